package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"parley.internal/internal/identity"
)

// castPiece is how much of a recording travels in one message between hubs.
const castPiece = 256 << 10

// Recordings shows the caller's recordings on every hub that can be reached,
// newest first.
func (ts *Terminals) Recordings(ctx context.Context, who identity.Actor) ([]Recording, error) {
	list, err := ts.d.Recordings.List(who)
	if err != nil {
		return nil, err
	}
	for _, a := range ts.everywhere(ctx, question{Op: opRecordings, Who: who}) {
		list = append(list, a.Answer.Recordings...)
	}
	slices.SortFunc(list, func(a, b Recording) int { return strings.Compare(b.ID, a.ID) })
	return list, ctx.Err()
}

// Recording opens a recording, wherever it was made; the caller closes it. One on
// another hub is fetched in pieces as it is read.
func (ts *Terminals) Recording(ctx context.Context, who identity.Actor, id string) (Recording, io.ReadSeekCloser, error) {
	rec, file, err := ts.d.Recordings.Open(who, id)
	if !errors.Is(err, ErrNotFound) {
		return rec, file, err
	}
	for _, a := range ts.everywhere(ctx, question{Op: opRecording, Who: who, ID: id}) {
		if list := a.Answer.Recordings; len(list) == 1 {
			return list[0], &farRecording{ctx: ctx, ts: ts, hub: a.Hub, who: who, id: id, size: list[0].Bytes, piece: a.Answer.Data}, nil
		}
	}
	return Recording{}, nil, ErrNotFound
}

// piece answers another hub that reads a recording of ours.
func (ts *Terminals) piece(q question) (a answer, err error) {
	rec, file, err := ts.d.Recordings.Open(q.Who, q.ID)
	if err != nil {
		return a, err
	}
	defer func() { _ = file.Close() }()
	if _, err := file.Seek(q.After, io.SeekStart); err != nil {
		return a, err
	}
	a.Recordings = []Recording{rec}
	a.Data, err = io.ReadAll(io.LimitReader(file, castPiece))
	return a, err
}

// farRecording reads a recording on another hub. Its length is what it was when
// it was opened.
type farRecording struct {
	ctx   context.Context // of the request that reads it
	ts    *Terminals
	hub   string
	who   identity.Actor
	id    string
	size  int64
	at    int64  // where the next Read begins
	begin int64  // where piece begins
	piece []byte // the last one fetched
}

// Read gives what is there of the piece it has, else it fetches the next.
func (f *farRecording) Read(p []byte) (int, error) {
	if f.at >= f.size {
		return 0, io.EOF
	}
	if f.at < f.begin || f.at >= f.begin+int64(len(f.piece)) {
		ctx, cancel := context.WithTimeout(f.ctx, askTime)
		defer cancel()
		a, err := f.ts.things.AskHub(ctx, f.hub, question{Op: opRecording, Who: f.who, ID: f.id, After: f.at})
		if err != nil {
			return 0, fmt.Errorf("the hub that made the recording: %w", err)
		}
		if len(a.Data) == 0 {
			return 0, io.ErrUnexpectedEOF
		}
		f.begin, f.piece = f.at, a.Data
	}
	n := copy(p, f.piece[f.at-f.begin:])
	n = int(min(int64(n), f.size-f.at))
	f.at += int64(n)
	return n, nil
}

// Seek sets where the next Read begins.
func (f *farRecording) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += f.at
	case io.SeekEnd:
		offset += f.size
	}
	if offset < 0 {
		return 0, errors.New("before the beginning of the recording")
	}
	f.at = offset
	return offset, nil
}

// Close forgets the piece; nothing is open on the other hub.
func (f *farRecording) Close() error {
	f.piece = nil
	return nil
}

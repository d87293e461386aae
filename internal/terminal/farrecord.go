package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"parley/internal/identity"
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
	if ts.relay != nil {
		for _, a := range ts.relay.everywhere(ctx, request{Op: opRecordings, Who: who}) {
			list = append(list, a.Recordings...)
		}
	}
	slices.SortFunc(list, func(a, b Recording) int { return strings.Compare(b.ID, a.ID) })
	return list, ctx.Err()
}

// Recording opens a recording, wherever it was made; the caller closes it. One on
// another hub is fetched in pieces as it is read.
func (ts *Terminals) Recording(ctx context.Context, who identity.Actor, id string) (Recording, io.ReadSeekCloser, error) {
	rec, file, err := ts.d.Recordings.Open(who, id)
	if !errors.Is(err, ErrNotFound) || ts.relay == nil {
		return rec, file, err
	}
	for _, a := range ts.relay.everywhere(ctx, request{Op: opRecording, Who: who, ID: id}) {
		if len(a.Recordings) == 1 {
			far := &farRecording{ctx: ctx, r: ts.relay, hub: a.Hub, who: who, id: id, size: a.Recordings[0].Bytes, piece: a.Data}
			return a.Recordings[0], far, nil
		}
	}
	return Recording{}, nil, ErrNotFound
}

// piece answers another hub that reads a recording of ours.
func (ts *Terminals) piece(q request) (a answer, err error) {
	rec, file, err := ts.d.Recordings.Open(q.Who, q.ID)
	if err != nil {
		return a, err
	}
	defer func() { _ = file.Close() }()
	if _, err := file.Seek(q.After, io.SeekStart); err != nil {
		return a, err
	}
	a.Hub, a.Recordings = ts.d.Hub, []Recording{rec}
	a.Data, err = io.ReadAll(io.LimitReader(file, castPiece))
	return a, err
}

// farRecording reads a recording on another hub. Its length is what it was when
// it was opened.
type farRecording struct {
	ctx   context.Context // of the request that reads it
	r     *relay
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
		a, err := f.r.askHub(ctx, f.hub, request{Op: opRecording, Who: f.who, ID: f.id, After: f.at})
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

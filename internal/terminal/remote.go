package terminal

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"parley/internal/bus"
	"parley/internal/identity"
	"parley/protocol/viber"
)

// next waits a while for the next event of a lent view.
func (l *lent) next(ctx context.Context) (a answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, pollTime)
	defer cancel()
	event, err := l.view.Next(ctx)
	switch {
	case errors.Is(err, io.EOF):
		return answer{Over: true}, nil
	case errors.Is(err, context.DeadlineExceeded):
		return answer{}, nil // nothing to show; they ask again
	case err != nil:
		return a, err
	}
	a.Frame, err = viber.Encode(viber.Header{ID: "relay", At: time.Now()}, event)
	return a, err
}

// takeBack closes views that no hub has asked for since.
func (r *relay) takeBack(since time.Time) {
	r.mu.Lock()
	var stale []*lent
	for id, l := range r.views {
		if l.seen.Before(since) {
			stale = append(stale, l)
			delete(r.views, id)
		}
	}
	r.mu.Unlock()
	for _, l := range stale {
		l.view.Close()
	}
}

// ask asks the hub that has a terminal. No answer at all means that none has.
func (r *relay) ask(ctx context.Context, id string, q request) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, pollTime+q.Wait+2*askTime)
	defer cancel()
	a, err := r.send(ctx, subjectOne+bus.Token(id), q)
	if errors.Is(err, bus.ErrNoResponders) {
		err = ErrNotFound
	}
	return a, err
}

func (r *relay) send(ctx context.Context, subject string, q request) (a answer, err error) {
	data, err := json.Marshal(q)
	if err != nil {
		return a, err
	}
	if data, err = r.ts.d.Bus.Request(ctx, subject, data); err != nil {
		return a, err
	}
	if err := json.Unmarshal(data, &a); err != nil {
		return a, err
	}
	if a.Error != "" {
		return answer{}, errorOf(a.Code, a.Error)
	}
	return a, nil
}

// attach opens a view on the hub that has the terminal.
func (r *relay) attach(ctx context.Context, who identity.Actor, id string, opts AttachOptions) (View, error) {
	a, err := r.ask(ctx, id, request{Op: opAttach, Who: who, Opts: opts})
	if err != nil {
		return nil, err
	}
	return &farView{r: r, who: who, terminal: id, id: a.View}, nil
}

// farView looks at a terminal on another hub: each event is asked for, so a slow
// viewer slows nobody, here as there.
type farView struct {
	r            *relay
	who          identity.Actor
	terminal, id string
}

func (v *farView) ask(ctx context.Context, op string, size viber.Size) (answer, error) {
	return v.r.ask(ctx, v.terminal, request{Op: op, Who: v.who, View: v.id, Size: size})
}

// Next waits for the next event.
func (v *farView) Next(ctx context.Context) (viber.Payload, error) {
	for {
		a, err := v.ask(ctx, opNext, viber.Size{})
		switch {
		case err != nil:
			return nil, err
		case a.Over:
			return nil, io.EOF
		case a.Frame == nil:
			continue
		}
		m, err := viber.DecodeFromServer(a.Frame)
		return m.Body, err
	}
}

// Resize says how large the viewer's window is.
func (v *farView) Resize(ctx context.Context, size viber.Size) (viber.Size, error) {
	if !size.Valid() {
		return viber.Size{}, ErrBadSize
	}
	a, err := v.ask(ctx, opResize, size)
	return a.Size, err
}

// Close ends the view.
func (v *farView) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	_, _ = v.ask(ctx, opDetach, viber.Size{}) // a hub that is gone has forgotten it
}

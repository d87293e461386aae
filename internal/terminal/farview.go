package terminal

import (
	"context"
	"time"

	"parley.internal/internal/identity"
	"parley.internal/internal/ids"
	"parley.internal/internal/owner"
	"parley.internal/protocol/viber"
)

// lent is a view of ours that another hub looks through; it knows it by a name.
type lent struct {
	*view
	name string
}

// lend opens a view for another hub.
func (ts *Terminals) lend(ctx context.Context, t *terminal, q question) (owner.Stream[answer], error) {
	if !reaches(q.Who, t) {
		return nil, ErrNotFound
	}
	v, err := ts.attach(ctx, q.Who, t, q.Opts)
	if err != nil {
		return nil, err
	}
	l := &lent{v, q.View}
	if err := t.do(ctx, func() { t.lent[l.name] = v }); err != nil {
		v.Close()
		return nil, err
	}
	return l, nil
}

// Next waits for the next event.
func (l *lent) Next(ctx context.Context) (a answer, err error) {
	event, err := l.view.Next(ctx)
	if err != nil {
		return a, err
	}
	a.Frame, err = viber.Encode(viber.Header{ID: "relay", At: time.Now()}, event)
	return a, err
}

// Close ends the view.
func (l *lent) Close() {
	_ = l.t.do(context.Background(), func() { delete(l.t.lent, l.name) }) // a terminal that is gone has none
	l.view.Close()
}

// resizeView is Resize of a view that another hub looks through.
func (t *terminal) resizeView(ctx context.Context, name string, size viber.Size) (viber.Size, error) {
	var v *view
	if err := t.do(ctx, func() { v = t.lent[name] }); err != nil {
		return viber.Size{}, err
	}
	if v == nil {
		return viber.Size{}, ErrNotFound
	}
	return v.Resize(ctx, size)
}

// farView looks at a terminal on another hub.
type farView struct {
	ts       *Terminals
	who      identity.Actor
	terminal string
	name     string
	stream   owner.Stream[answer]
}

// attachElsewhere opens a view on the hub that has the terminal, if there may be one.
func (ts *Terminals) attachElsewhere(ctx context.Context, who identity.Actor, id string, opts AttachOptions) (View, error) {
	if ts.things == nil {
		return nil, ErrNotFound
	}
	v := &farView{ts: ts, who: who, terminal: id, name: ids.New()}
	var err error
	v.stream, err = ts.things.Follow(ctx, id, question{Who: who, View: v.name, Opts: opts})
	if err != nil {
		return nil, orGone(err)
	}
	return v, nil
}

// Next waits for the next event. A terminal dies with its hub.
func (v *farView) Next(ctx context.Context) (viber.Payload, error) {
	a, err := v.stream.Next(ctx)
	if err != nil {
		return nil, orGone(err)
	}
	m, err := viber.DecodeFromServer(a.Frame)
	return m.Body, err
}

// Resize says how large the viewer's window is.
func (v *farView) Resize(ctx context.Context, size viber.Size) (viber.Size, error) {
	if !size.Valid() {
		return viber.Size{}, ErrBadSize
	}
	a, err := v.ts.elsewhere(ctx, v.terminal, question{Op: opResize, Who: v.who, View: v.name, Size: size})
	return a.Size, err
}

// Close ends the view.
func (v *farView) Close() { v.stream.Close() }

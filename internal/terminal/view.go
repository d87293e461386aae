package terminal

import (
	"context"
	"io"
	"time"

	"parley.internal/internal/wake"
	"parley.internal/protocol/viber"
)

// settleTime is how long output is gathered between two frames of a view. The
// first after a pause goes out at once, so that typing feels immediate.
const settleTime = 8 * time.Millisecond

// view is a viewer on the hub that has the process. Its terminal's goroutine owns
// everything below opts, except pause, which belongs to whoever calls Next.
type view struct {
	t    *terminal
	opts AttachOptions
	wake wake.Bell

	attached *viber.TerminalAttached // not given out yet
	cursor   int64                   // raw position up to which output was taken
	replayed int64                   // up to here it is scrollback
	text     *viber.TextSplitter
	ready    []*viber.TerminalOutput // taken, not given out yet
	missed   bool                    // the next frame says so
	window   *viber.Size             // what the viewer said
	resized  bool                    // a new size was not given out yet
	flushed  bool
	done     bool // the exit was given out

	pause time.Time // no frame before
}

var _ View = (*view)(nil)

// attach makes a view; the terminal's goroutine calls it.
func (t *terminal) attach(opts AttachOptions) *view {
	kept := t.screen.Bytes()
	v := &view{
		t: t, opts: opts, wake: wake.New(), cursor: t.screen.End() - int64(len(kept)), replayed: t.screen.End(),
		attached: &viber.TerminalAttached{
			TerminalID: t.info.ID, Size: t.sizes.current, Offset: t.screen.Start(), Truncated: t.screen.Truncated(),
		},
	}
	v.text = viber.NewTextSplitter(v.cursor)
	t.views[v] = struct{}{}
	return v
}

// Next waits for the next event.
func (v *view) Next(ctx context.Context) (viber.Payload, error) {
	for {
		if err := v.gather(ctx); err != nil {
			return nil, err
		}
		var event viber.Payload
		var done bool
		if err := v.t.do(ctx, func() { event, done = v.nextEvent(), v.done }); err != nil {
			return nil, err
		}
		switch {
		case event != nil:
			if out, ok := event.(*viber.TerminalOutput); ok && !out.Replay && len(out.Data) < viber.MaxTerminalData/2 {
				v.pause = time.Now().Add(settleTime)
			}
			return event, nil
		case done:
			return nil, io.EOF
		}
		select {
		case <-v.wake:
		case <-v.t.gone:
			return nil, ErrNotFound
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// gather lets output gather after a small frame.
func (v *view) gather(ctx context.Context) error {
	wait := time.Until(v.pause)
	if wait <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// nextEvent is the next event there is, or nil.
func (v *view) nextEvent() viber.Payload {
	switch {
	case v.done:
		return nil
	case v.opts.ExitOnly:
		return v.exitEvent()
	case v.attached != nil:
		event := v.attached
		v.attached = nil
		return event
	case len(v.ready) == 0 && v.resized:
		v.resized = false
		return &viber.TerminalResized{TerminalID: v.t.info.ID, Rows: v.t.sizes.current.Rows, Cols: v.t.sizes.current.Cols}
	case len(v.ready) == 0:
		v.fill()
	}
	if len(v.ready) == 0 {
		return v.exitEvent()
	}
	event := v.ready[0]
	v.ready = v.ready[1:]
	return event
}

// fill takes output from the screen.
func (v *view) fill() {
	raw, from := v.t.screen.Since(v.cursor)
	if from > v.cursor {
		v.cursor, v.missed, v.text = from, true, viber.NewTextSplitter(from)
	}
	if v.cursor < v.replayed {
		raw = raw[:min(int64(len(raw)), v.replayed-v.cursor)]
	}
	raw = raw[:min(len(raw), 4*viber.MaxTerminalData)]
	v.cursor += int64(len(raw))
	chunks := v.text.Push(raw)
	if len(raw) == 0 && v.t.exit != nil && !v.flushed {
		v.flushed = true
		chunks = v.text.Flush()
	}
	for _, c := range chunks {
		v.ready = append(v.ready, &viber.TerminalOutput{
			TerminalID: v.t.info.ID, Data: c.Data, Offset: c.Offset, Replay: c.Offset <= v.replayed, Truncated: v.missed,
		})
		v.missed = false
	}
}

// exitEvent is the end, once everything before it was given out.
func (v *view) exitEvent() viber.Payload {
	if v.t.exit == nil || !v.opts.ExitOnly && v.cursor < v.t.screen.End() {
		return nil
	}
	v.done = true
	event := *v.t.exit
	return &event
}

// Resize says how large the viewer's window is.
func (v *view) Resize(ctx context.Context, size viber.Size) (viber.Size, error) {
	if !size.Valid() {
		return viber.Size{}, ErrBadSize
	}
	var now viber.Size
	var exited bool
	err := v.t.do(ctx, func() {
		if exited = v.t.exit != nil; exited {
			return
		}
		v.window = &size
		v.t.resize()
		now = v.t.sizes.current
		v.resized = false // the answer says it
	})
	if err == nil && exited {
		err = ErrExited
	}
	return now, err
}

// Close ends the view.
func (v *view) Close() {
	_ = v.t.do(context.Background(), func() { // a terminal that is gone has no views
		delete(v.t.views, v)
		if v.t.exit == nil {
			v.t.resize()
		}
	})
}

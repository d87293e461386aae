package terminal

import (
	"context"
	"strings"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/identity"
	"parley.internal/protocol/viber"
)

// Attach opens a view.
func (ts *Terminals) Attach(ctx context.Context, who identity.Actor, id string, opts AttachOptions) (View, error) {
	t := ts.find(who, id)
	if t == nil {
		return ts.attachElsewhere(ctx, who, id, opts)
	}
	return ts.attach(ctx, who, t, opts)
}

func (ts *Terminals) attach(ctx context.Context, who identity.Actor, t *terminal, opts AttachOptions) (*view, error) {
	var v *view
	if err := t.do(ctx, func() { v = t.attach(opts) }); err != nil {
		return nil, err
	}
	if !opts.ExitOnly {
		ts.note(who, audit.TerminalAttached, t, "ok", 0, nil)
	}
	return v, nil
}

// Input types.
func (ts *Terminals) Input(ctx context.Context, who identity.Actor, id string, data []byte) error {
	t := ts.find(who, id)
	if t == nil {
		_, err := ts.elsewhere(ctx, id, question{Op: opInput, Who: who, Data: data})
		return err
	}
	return t.run1(ctx, func() error { return t.input(who, data) })
}

// run1 is do for functions that can fail.
func (t *terminal) run1(ctx context.Context, fn func() error) error {
	var failed error
	if err := t.do(ctx, func() { failed = fn() }); err != nil {
		return err
	}
	return failed
}

// Resize is for somebody without a view.
func (ts *Terminals) Resize(ctx context.Context, who identity.Actor, id string, size viber.Size) (now viber.Size, err error) {
	if !size.Valid() {
		return now, ErrBadSize
	}
	t := ts.find(who, id)
	if t == nil {
		a, err := ts.elsewhere(ctx, id, question{Op: opResize, Who: who, Size: size})
		return a.Size, err
	}
	err = t.run1(ctx, func() error {
		if t.exit != nil {
			return ErrExited
		}
		t.sizes.loose = &size
		t.resize()
		now = t.sizes.current
		return nil
	})
	return now, err
}

// End ends the process and waits for its exit.
func (ts *Terminals) End(ctx context.Context, who identity.Actor, id string) (viber.TerminalExit, error) {
	t := ts.find(who, id)
	if t == nil {
		_, err := ts.elsewhere(ctx, id, question{Op: opEnd, Who: who})
		if err != nil {
			return viber.TerminalExit{}, err
		}
	} else if err := ts.hangUp(ctx, who, t); err != nil {
		return viber.TerminalExit{}, err
	}
	return ts.awaitExit(ctx, who, id)
}

func (ts *Terminals) hangUp(ctx context.Context, who identity.Actor, t *terminal) error {
	return t.run1(ctx, func() error {
		if t.exit == nil && !t.closing {
			ts.note(who, audit.TerminalClosed, t, "ok", time.Since(t.began), nil)
		}
		t.hangUp()
		return nil
	})
}

func (ts *Terminals) awaitExit(ctx context.Context, who identity.Actor, id string) (viber.TerminalExit, error) {
	v, err := ts.Attach(ctx, who, id, AttachOptions{ExitOnly: true})
	if err != nil {
		return viber.TerminalExit{}, err
	}
	defer v.Close()
	for {
		event, err := v.Next(ctx)
		if err != nil {
			return viber.TerminalExit{}, err
		}
		if exit, ok := event.(*viber.TerminalExit); ok {
			return *exit, nil
		}
	}
}

// EndTask ends what a task opened on this hub and nobody looks at, and waits for it.
func (ts *Terminals) EndTask(ctx context.Context, task string) {
	var ending []*terminal
	for _, t := range ts.mine(func(t *terminal) bool { return task != "" && t.task == task }) {
		// One that has left meanwhile needs no ending.
		_ = t.do(ctx, func() {
			if t.describe().Viewers == 0 {
				t.hangUp()
				ending = append(ending, t)
			}
		})
	}
	for _, t := range ending {
		_, _ = ts.awaitExit(ctx, t.creator, t.info.ID) // whoever waits has a bound
	}
}

// How an agent's reading waits.
const (
	// lull is how long nothing must come for output to count as complete.
	lull = 100 * time.Millisecond
	// maxRead is what one reading gives.
	maxRead = 128 << 10
)

// Send types and gives what is printed then. Without a wait it gives what is
// there at once.
func (ts *Terminals) Send(ctx context.Context, who identity.Actor, id string, data []byte, wait time.Duration) (Output, error) {
	before, err := ts.Read(ctx, who, id, -1, 0)
	if err != nil {
		return Output{}, err
	}
	if err := ts.Input(ctx, who, id, data); err != nil {
		return Output{}, err
	}
	return ts.Read(ctx, who, id, before.Offset, wait)
}

// Read gives output after a byte position. It waits for some, up to a while, and
// then until no more comes for a moment.
func (ts *Terminals) Read(ctx context.Context, who identity.Actor, id string, after int64, wait time.Duration) (Output, error) {
	t := ts.find(who, id)
	if t == nil {
		a, err := ts.elsewhere(ctx, id, question{Op: opRead, Who: who, After: after, Wait: wait})
		return a.Output, err
	}
	// A view that does not look is woken by output all the same.
	v, err := ts.attach(ctx, who, t, AttachOptions{ExitOnly: true})
	if err != nil {
		return Output{}, err
	}
	defer v.Close()
	deadline := time.Now().Add(wait)
	for {
		var out Output
		if err := t.do(ctx, func() { out = t.since(after) }); err != nil {
			return Output{}, err
		}
		left := time.Until(deadline)
		if out.Status == viber.TerminalExited || left <= 0 {
			return out, nil
		}
		if out.Data != "" {
			left = min(left, lull)
		}
		more, err := v.await(ctx, left)
		if err != nil {
			return Output{}, err
		}
		if !more {
			err := t.do(ctx, func() { out = t.since(after) })
			return out, err
		}
	}
}

// await waits for anything to happen on the terminal.
func (v *view) await(ctx context.Context, d time.Duration) (happened bool, err error) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-v.wake:
		return true, nil
	case <-timer.C:
		return false, nil
	case <-v.t.gone:
		return true, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// since is what an agent gets: text of whole characters after a position.
func (t *terminal) since(after int64) Output {
	if after < 0 {
		after = t.screen.End()
	}
	raw, from := t.screen.Since(after)
	raw = raw[:min(len(raw), maxRead)]
	split := viber.NewTextSplitter(from)
	chunks := split.Push(raw)
	out := Output{Status: viber.TerminalRunning, Truncated: from > after}
	if t.exit != nil {
		out.Status, out.ExitCode = viber.TerminalExited, &t.exit.ExitCode
		chunks = append(chunks, split.Flush()...)
	}
	var text strings.Builder
	for _, c := range chunks {
		text.WriteString(c.Data)
	}
	out.Data, out.Offset = text.String(), split.Offset()
	return out
}

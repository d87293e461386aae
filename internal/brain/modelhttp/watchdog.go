package modelhttp

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// errStalled is the cause of a context a Watchdog ended.
var errStalled = errors.New("stalled")

// Watchdog ends a call whose stream has gone silent. It watches only while we
// wait for the provider, never while the consumer of the events is busy. It
// belongs to one goroutine.
type Watchdog struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	timer   *time.Timer
	between time.Duration
	waiting time.Duration
}

// Watch starts waiting for the first token. A zero time stands for the default.
func Watch(ctx context.Context, first, between time.Duration) *Watchdog {
	if first == 0 {
		first = FirstToken
	}
	if between == 0 {
		between = BetweenTokens
	}
	w := &Watchdog{between: between, waiting: first}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	w.timer = time.AfterFunc(first, func() { w.cancel(errStalled) })
	return w
}

// Context ends when the caller's does or the stream stalls.
func (w *Watchdog) Context() context.Context { return w.ctx }

// Pause stops the clock: something has come and is being handled.
func (w *Watchdog) Pause() { w.timer.Stop() }

// Wait starts it again for the next token.
func (w *Watchdog) Wait() {
	w.waiting = w.between
	w.timer.Reset(w.between)
}

// Stop ends the watch and its context.
func (w *Watchdog) Stop() {
	w.timer.Stop()
	w.cancel(nil)
}

// stalled tells whether the watchdog itself ended the context, and how.
func (w *Watchdog) stalled() (string, bool) {
	if !errors.Is(context.Cause(w.ctx), errStalled) {
		return "", false
	}
	return fmt.Sprintf("no answer for %v", w.waiting), true
}

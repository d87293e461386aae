package talk

import (
	"context"
	"errors"
	"time"

	"parley.internal/internal/talk"
)

// errWaits ends the reading of a run that waits for a person for longer than a plain send may.
var errWaits = errors.New("the run waits for a person")

// waiting watches a send. Its client sees nothing before the answer, and what an agent wants to
// do may wait for days: a client of the original protocol is answered in words that it does.
// Others see it as it happens, and wait.
type waiting struct {
	r      *request
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	said   talk.Event
}

func (r *request) waits() *waiting {
	w := &waiting{r: r}
	w.ctx, w.cancel = context.WithCancelCause(r.c.ctx)
	return w
}

func (w *waiting) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
	w.cancel(nil)
}

// hear begins or ends the wait.
func (w *waiting) hear(ev talk.Event) {
	switch {
	case ev.Approval == nil:
	case w.r.c.extended.Load():
		w.r.stream(ev)
	case ev.Approval.Resolved != "":
		w.timer.Stop()
	default:
		w.said = ev
		w.timer = time.AfterFunc(w.r.c.face.limits.SendWait, func() { w.cancel(errWaits) })
	}
}

func (w *waiting) tooLong() bool { return errors.Is(context.Cause(w.ctx), errWaits) }

// goesOn answers a plain send whose run waits for a person. The run goes on without its client; what
// it says then is in the history, and the next turn knows it.
func (r *request) goesOn(run *talk.Run, ev talk.Event) error {
	if err := run.Detach(r.c.ctx); err != nil {
		return err
	}
	r.send(response(talk.Event{Kind: talk.End, Agent: ev.Agent, Run: ev.Run}, waitsFor(ev)+" It goes on by itself then."), "", false)
	return nil
}

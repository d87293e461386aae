package work

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"parley.internal/internal/brain/tool"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/protocol/viber"
)

// complete is the good end.
func (t *task) complete() {
	text := t.turnText.String()
	t.end(viber.TaskDone, &viber.TaskCompleted{
		Result: viber.TaskResult{
			Text: text, Summary: viber.Summary(text), ArtifactRefs: t.artifacts(), PlanUpdates: t.planUpdates(),
		},
		Usage: wireUsage(t.usage), CompletedAt: viber.At(time.Now()), Turns: t.turn,
	}, true)
}

// fail is the bad end.
func (t *task) fail(info viber.ErrorInfo, reason viber.Reason) {
	if t.over || t.ending {
		return
	}
	t.halt("the task failed", tool.Cancelled, "the task ended before this call did")
	ev := viber.NewTaskFailure(t.id, info, t.turnText.String(), wireUsage(t.usage))
	ev.UnprocessedMessages = t.unprocessed()
	if reason != "" {
		ev.Details = &viber.Details{Reason: reason}
	}
	t.end(viber.TaskFailed, ev, !info.Recoverable)
}

// internal is a failure of ours. The cause goes into the log, not to clients.
func (t *task) internal(what string, err error) {
	t.w.d.Logger.Error("a task failed", "task", t.id, "what", what, "error", err)
	t.fail(viber.ErrorInfo{Type: viber.CodeInternalError, Message: what, Recoverable: true, Suggestion: "submit again"}, "")
}

// timedOut ends a task that took too long.
func (t *task) timedOut() {
	t.fail(viber.ErrorInfo{
		Type: viber.CodeTimeout, Message: "the task took longer than " + t.opts.Timeout().String(), Recoverable: true,
		Suggestion: "allow more with options.timeout_ms",
	}, "")
}

// stop ends the task because somebody said so.
func (t *task) stop(by, reason string, answer func(Stopped, error)) {
	if t.over || t.ending {
		answer(Stopped{}, ErrFinished)
		return
	}
	t.stopped = append(t.stopped, answer)
	if t.stopNow != nil {
		return // who stops it a second time waits with the first
	}
	t.stopNow = func() {
		if t.ending {
			return
		}
		t.halt("the task was stopped", tool.Cancelled, "the task was stopped")
		usage := wireUsage(t.usage)
		t.end(viber.TaskHalted, &viber.TaskStopped{
			PartialResult: &viber.PartialResult{Text: t.turnText.String()}, Usage: &usage, Turns: t.turn, Reason: reason, By: by,
			UnprocessedMessages: t.unprocessed(),
		}, true)
	}
	t.cancel(errOver)
	t.cutCall(errOver)
	t.killed.set(killTime)
	t.closing = t.w.d.Terminals != nil || t.session != nil
	t.closePrograms(func() {
		t.closing = false
		t.stopOnceDead()
	})
	t.stopOnceDead()
}

// stopOnceDead ends a task that is being stopped, unless a program of its still runs.
func (t *task) stopOnceDead() {
	if t.stopNow != nil && !t.over && !t.closing && (t.batch == nil || t.batch.running == nil) {
		t.stopNow()
	}
}

// killTime is how long a stopped task waits for the programs of its tool and in its
// terminals: they get three seconds to end by themselves and are killed then.
const killTime = 5 * time.Second

// halt ends whatever is going on.
func (t *task) halt(why string, kind tool.ErrorType, result string) {
	t.cancel(errOver)
	t.cutCall(errOver)
	t.withdrawAll(why)
	t.cancelCalls(kind, result)
}

// end writes the last event and what belongs to it. holds says that the key stays
// bound to this task.
func (t *task) end(status viber.TaskStatus, ev viber.TaskEvent, holds bool) {
	t.status, t.pending = status, 0
	t.ended = time.UnixMicro(time.Now().UnixMicro()).UTC()
	t.emit(ev)
	ev.Ref().At = t.ended
	t.ending = true
	t.out.row = true
	left := sortQueued(t.steers, t.followups, t.collects)
	t.op(func(tx *store.Tx) error { return t.writeEnd(tx, holds, left) })
	t.then(func() {
		t.over = true
		t.cancel(errOver)
		t.w.announce(t, ev)
		if stopped, ok := ev.(*viber.TaskStopped); ok {
			t.answerStops(Stopped{Event: stopped}, nil)
		}
		t.w.countEnd(status)
		t.auditEnd(ev)
		t.lease.Retired()
		t.closePrograms(func() {})
	})
}

// writeEnd writes what the end means beside the task's row: the key, the messages
// nobody heard, and that nobody owns the task any more.
func (t *task) writeEnd(tx *store.Tx, holds bool, left []*queued) error {
	free := store.Bool(!holds)
	_, err := tx.Exec(`UPDATE work_keys SET free = ?, expires_at = ? WHERE hash = ? AND task = ?`, free, store.Micros(t.ended.Add(t.w.d.Limits.Keep)), t.keyHash, t.id)
	if err != nil {
		return err
	}
	for _, q := range left {
		if _, err := tx.Exec(`UPDATE work_messages SET done = 1 WHERE id = ?`, q.ID); err != nil {
			return err
		}
	}
	return t.lease.RetireTx(tx)
}

// closePrograms ends what runs in the task's terminals, and an agent that is a program of its
// own, and posts what comes then.
func (t *task) closePrograms(then func()) {
	session := t.session
	if t.w.d.Terminals == nil && session == nil {
		return
	}
	t.background(func() {
		var both sync.WaitGroup
		if session != nil {
			both.Go(session.Close)
		}
		if t.w.d.Terminals != nil {
			both.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
				defer cancel()
				t.w.d.Terminals.CloseTask(ctx, t.id)
			})
		}
		both.Wait()
		t.post(then)
	})
}

// Stop ends a running task. See [API].
func (w *Work) Stop(ctx context.Context, who identity.Actor, id, reason string) (Stopped, error) {
	out, _, err := w.stopTask(ctx, who, id, reason)
	return out, err
}

// stopTask is Stop that also tells whose task it is.
func (w *Work) stopTask(ctx context.Context, who identity.Actor, id, reason string) (out Stopped, whose string, err error) {
	r, err := w.find(ctx, who, cleanID(id))
	if err != nil {
		return Stopped{}, "", err
	}
	if !r.status.Ended() {
		answer, err := w.control(ctx, r.id, request{Op: opStop, By: who.String(), Reason: valid(reason)})
		if !errors.Is(err, ErrFinished) {
			return Stopped{Event: answer.Stopped}, r.principal, err
		}
		if r, err = w.find(ctx, who, r.id); err != nil {
			return Stopped{}, "", err
		}
	}
	out, err = w.stoppedBefore(ctx, &r)
	return out, r.principal, err
}

// stoppedBefore is how a task ended, if it was stopped.
func (w *Work) stoppedBefore(ctx context.Context, r *record) (Stopped, error) {
	if r.status != viber.TaskHalted {
		return Stopped{}, ErrFinished
	}
	bounds, err := w.d.Log.Bounds(ctx, streamName(r.id))
	if err != nil {
		return Stopped{}, err
	}
	end, err := r.endEventAt(bounds.Last)
	if err != nil {
		return Stopped{}, err
	}
	ev, _ := end.(*viber.TaskStopped)
	return Stopped{Event: ev, Again: true}, nil
}

// cleanID is an id that can be looked up: one that is no UUID names nothing.
func cleanID(id string) string {
	if len(id) != 36 || uuid.Validate(id) != nil {
		return ""
	}
	return strings.ToLower(id)
}

// sortQueued puts messages in the order they came.
func sortQueued(lists ...[]*queued) []*queued {
	all := slices.Concat(lists...)
	slices.SortStableFunc(all, func(a, b *queued) int { return cmp.Compare(a.n, b.n) })
	return all
}

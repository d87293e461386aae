package work

import (
	"context"
	"errors"
	"fmt"

	"parley.internal/internal/lease"
	"parley.internal/internal/owner"
	"parley.internal/internal/store"
	"parley.internal/protocol/viber"
)

// What a running task can be asked, from any hub.
const (
	opStop    = "stop"
	opMessage = "message"
)

// request is something the task's goroutine is asked to do. The hub that was asked has
// checked who asks; By is its word for it.
type request struct {
	Op      string  `json:"op"`
	By      string  `json:"by,omitzero"`
	Reason  string  `json:"reason,omitzero"`
	Message *queued `json:"message,omitzero"`
}

// answer is what came of it.
type answer struct {
	Stopped *viber.TaskStopped    `json:"stopped,omitzero"`
	Ack     *viber.TaskMessageAck `json:"ack,omitzero"`
}

// tasks are those that run here, and the way to the others. A task that nobody runs is
// taken up by a sweep, and not by being asked for.
type tasks = owner.Things[*task, request, answer]

func (w *Work) newTasks() *tasks {
	return owner.New(owner.Deps{Bus: w.d.Bus, Leases: w.d.Leases, Clustered: w.d.Clustered, Log: w.d.Logger}, owner.Kind[*task, request, answer]{
		Name: "task", Unowned: w.unowned,
		Do:     func(ctx context.Context, t *task, r request) (answer, error) { return t.handle(ctx, r) },
		Holds:  func(t *task) *lease.Lease { return t.lease },
		Errors: []owner.Named{owner.Error("finished", ErrFinished), owner.Error("unavailable", ErrUnavailable), owner.ErrorType[*LimitError]("limit")},
	})
}

// control asks the task to do something, wherever it runs. A task that is between
// two owners is waited for.
func (w *Work) control(ctx context.Context, id string, r request) (answer, error) {
	a, err := w.tasks.Ask(ctx, id, r)
	switch {
	case errors.Is(err, owner.ErrClosed):
		return a, ErrShuttingDown
	case errors.Is(err, owner.ErrMoving), errors.Is(err, owner.ErrSilent):
		return a, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return a, err
}

// handle does a request on the task's goroutine.
func (t *task) handle(ctx context.Context, r request) (answer, error) {
	type outcome struct {
		a   answer
		err error
	}
	done := make(chan outcome, 1)
	err := t.do(ctx, func() {
		switch r.Op {
		case opStop:
			t.stop(r.By, r.Reason, func(s Stopped, err error) { done <- outcome{answer{Stopped: s.Event}, err} })
		case opMessage:
			if r.Message == nil {
				done <- outcome{err: errors.New("a message without words")}
				return
			}
			ack, err := t.accept(r.Message)
			done <- outcome{answer{Ack: ack}, err}
		default:
			done <- outcome{err: fmt.Errorf("unknown request %q", r.Op)}
		}
	})
	if err != nil {
		return answer{}, err
	}
	select {
	case o := <-done:
		return o.a, o.err
	case <-t.gone:
	case <-ctx.Done():
		return answer{}, context.Cause(ctx)
	}
	select {
	case o := <-done: // both happened
		return o.a, o.err
	default:
		return answer{}, owner.ErrGone
	}
}

// unowned is what it means that nobody runs a task: it has ended, or some hub will find
// it soon.
func (w *Work) unowned(ctx context.Context, id string) error {
	if w.tasks.Refusing() {
		return ErrShuttingDown
	}
	return w.d.DB.Read(ctx, func(tx *store.Tx) error {
		var at int64
		err := tx.QueryRow(`SELECT ended_at FROM work_tasks WHERE id = ?`, id).Scan(&at)
		if err == nil && at > 0 {
			err = ErrFinished
		}
		return err
	})
}

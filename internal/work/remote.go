package work

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"parley/internal/bus"
	"parley/internal/store"
	"parley/protocol/viber"
)

// A hub that died keeps its tasks for its lease's time to live; whoever wants
// something of one meanwhile waits that long.
const (
	movePause = 250 * time.Millisecond
	moveTries = 48
	// controlTimeout is how long another hub may take to answer.
	controlTimeout = 10 * time.Second
)

// What one hub asks another about a task that runs there.
const (
	opStop    = "stop"
	opMessage = "message"
)

// request is something the task's goroutine is asked to do, here or by another hub of
// this cluster: the bus takes nothing from anybody else. The hub that was asked has
// checked who asks; By is its word for it.
type request struct {
	Op      string  `json:"op"`
	By      string  `json:"by,omitzero"`
	Reason  string  `json:"reason,omitzero"`
	Message *queued `json:"message,omitzero"`
}

// answer is what came of it. Error is one of the names in remoteErrors.
type answer struct {
	Error   string                `json:"error,omitzero"`
	Text    string                `json:"text,omitzero"`
	RetryMS int64                 `json:"retry_ms,omitzero"`
	Reason  viber.Reason          `json:"reason,omitzero"`
	Stopped *viber.TaskStopped    `json:"stopped,omitzero"`
	Ack     *viber.TaskMessageAck `json:"ack,omitzero"`
}

// remoteErrors mean the same on every hub.
var remoteErrors = map[string]error{"finished": ErrFinished, "unavailable": ErrUnavailable, "gone": errGone}

func failed(err error) answer {
	if l, ok := errors.AsType[*LimitError](err); ok {
		return answer{Error: "limit", Text: l.Message, Reason: l.Reason, RetryMS: l.RetryAfter.Milliseconds()}
	}
	for name, base := range remoteErrors {
		if errors.Is(err, base) {
			return answer{Error: name}
		}
	}
	return answer{Error: "internal", Text: err.Error()}
}

func (a answer) err() error {
	switch base := remoteErrors[a.Error]; {
	case a.Error == "":
		return nil
	case base != nil:
		return base
	case a.Error == "limit":
		return &LimitError{Reason: a.Reason, Message: a.Text, RetryAfter: time.Duration(a.RetryMS) * time.Millisecond}
	default:
		return errors.New(a.Text)
	}
}

func taskSubject(id string) string { return "task." + bus.Token(id) }

// control asks the task to do something, wherever it runs. A task that is between
// two owners is waited for.
func (w *Work) control(ctx context.Context, id string, r request) (answer, error) {
	for range moveTries {
		a, err := w.controlOnce(ctx, id, r)
		if !errors.Is(err, errGone) {
			return a, err
		}
		ended, err := w.hasEnded(ctx, id)
		if err != nil {
			return a, err
		}
		if ended {
			return a, ErrFinished
		}
		if w.isClosing() {
			return a, ErrShuttingDown
		}
		if err := pause(ctx, movePause); err != nil {
			return a, err
		}
	}
	return answer{}, ErrUnavailable
}

func (w *Work) controlOnce(ctx context.Context, id string, r request) (answer, error) {
	if t := w.running(id); t != nil {
		return t.handle(ctx, r)
	}
	if !w.d.Clustered {
		return answer{}, errGone
	}
	data, err := json.Marshal(r)
	if err != nil {
		return answer{}, err
	}
	if len(data) > w.d.Bus.MaxPayload() {
		return answer{}, &viber.Violation{
			Reason: viber.ReasonTooLarge, Field: "/message", Message: "the message is too large for a task on another hub", Limit: w.d.Bus.MaxPayload(),
		}
	}
	ctx, cancel := context.WithTimeout(ctx, controlTimeout)
	defer cancel()
	raw, err := w.d.Bus.Request(ctx, taskSubject(id), data)
	switch {
	case errors.Is(err, bus.ErrNoResponders):
		return answer{}, errGone
	case err != nil:
		return answer{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	var a answer
	if err := json.Unmarshal(raw, &a); err != nil {
		return answer{}, err
	}
	return a, a.err()
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
		return answer{}, errGone
	}
}

// listen answers other hubs for a task that runs here, until the returned function
// is called.
func (w *Work) listen(t *task) (stop func()) {
	if !w.d.Clustered {
		return func() {}
	}
	sub, err := w.d.Bus.Subscribe(taskSubject(t.id), func(m bus.Msg) {
		var r request
		if m.Respond == nil || json.Unmarshal(m.Data, &r) != nil || r.Op == opMessage && r.Message == nil {
			return
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.live[t.id] != t {
			return
		}
		// Each answer has its own goroutine: a stop that waits delays nobody.
		w.workers.Go(func() {
			ctx, cancel := context.WithTimeout(w.ctx, controlTimeout)
			defer cancel()
			a, err := t.handle(ctx, r)
			if err != nil {
				a = failed(err)
			}
			raw, err := json.Marshal(a)
			if err == nil {
				err = m.Respond(raw)
			}
			if err != nil {
				w.d.Logger.Warn("cannot answer another hub", "task", t.id, "error", err)
			}
		})
	})
	if err != nil {
		w.d.Logger.Error("other hubs cannot reach a task", "task", t.id, "error", err)
		return func() {}
	}
	return sub.Close
}

func (w *Work) hasEnded(ctx context.Context, id string) (ended bool, err error) {
	err = w.d.DB.Read(ctx, func(tx *store.Tx) error {
		var at int64
		err := tx.QueryRow(`SELECT ended_at FROM work_tasks WHERE id = ?`, id).Scan(&at)
		ended = at > 0
		return err
	})
	return ended, err
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

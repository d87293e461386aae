package work

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/skillfile"
	"parley.internal/internal/identity"
	"parley.internal/internal/ids"
	"parley.internal/internal/store"
	"parley.internal/protocol/viber"
)

// repeatWindow is how long a repeated request is recognised.
const repeatWindow = 5 * time.Minute

// queued is a message to a running task.
type queued struct {
	ID      string              `json:"id"`
	Message viber.ChatMessage   `json:"message"`
	Mode    viber.InjectionMode `json:"mode"`
	By      identity.Actor      `json:"actor"`
	// Request, a hash, makes a repeat of the same person known.
	Request string `json:"request,omitzero"`

	at time.Time // when it was accepted
	n  int       // its place in the order of arrival
}

func newQueued(who identity.Actor, req MessageRequest) *queued {
	mode := req.Mode
	if mode == "" {
		mode = viber.Followup
	}
	q := &queued{ID: ids.New(), Message: req.Message, Mode: mode, By: who}
	if req.RequestID != "" {
		sum := sha256.Sum256([]byte(req.RequestID))
		q.Request = hex.EncodeToString(sum[:])
	}
	return q
}

func (q *queued) wire() viber.QueuedMessage {
	return viber.QueuedMessage{MessageID: q.ID, Message: q.Message, Mode: q.Mode}
}

// repeated finds the answer to the same request of the same person.
func (q *queued) repeated(tx *store.Tx) (*viber.TaskMessageAck, error) {
	if q.Request == "" {
		return nil, nil
	}
	var ack viber.TaskMessageAck
	err := tx.QueryRow(`SELECT task, id, disposition, place FROM work_messages WHERE principal = ? AND request = ? AND at > ? ORDER BY id LIMIT 1`,
		q.By.Person.ID, q.Request, store.Micros(time.Now().Add(-repeatWindow))).Scan(&ack.TaskID, &ack.MessageID, &ack.Disposition, &ack.Position)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return &ack, err
}

// Message says something to a running task. See [API].
func (w *Work) Message(ctx context.Context, who identity.Actor, req MessageRequest) (*viber.TaskMessageAck, error) {
	q := newQueued(who, req)
	if q.Message.Role != viber.RoleUser {
		return nil, &viber.Violation{Reason: viber.ReasonBadRole, Field: "/message/role", Message: "only the user speaks to a running task"}
	}
	var r record
	var again *viber.TaskMessageAck
	err := w.d.DB.Read(ctx, func(tx *store.Tx) (err error) {
		if again, err = q.repeated(tx); err != nil || again != nil {
			return err
		}
		r, err = loadRecord(tx, cleanID(req.Task))
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case again != nil:
		return again, nil
	case !who.Owns(r.principal):
		return nil, ErrNotFound
	case r.status.Ended():
		return nil, ErrFinished
	}
	answer, err := w.control(ctx, r.id, request{Op: opMessage, Message: q})
	if err != nil {
		return nil, err
	}
	return answer.Ack, nil
}

// accept decides about a message, in the same step in which the task would decide
// that it is done. It runs on the task's goroutine.
func (t *task) accept(q *queued) (*viber.TaskMessageAck, error) {
	if t.over || t.ending {
		return nil, ErrFinished
	}
	ack := &viber.TaskMessageAck{TaskID: t.id, MessageID: q.ID, Disposition: disposition(q.Mode), Position: t.waiting() + 1}
	full := ack.Position > t.w.d.Limits.QueuedMessages
	var again *viber.TaskMessageAck
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	err := t.w.d.DB.Write(ctx, func(tx *store.Tx) (err error) {
		if err := t.lease.Check(tx); err != nil {
			return err
		}
		if again, err = q.repeated(tx); err != nil || again != nil || full {
			return err
		}
		data, err := json.Marshal(q)
		if err != nil {
			return err
		}
		_, err = tx.Exec(`INSERT INTO work_messages (id, task, principal, request, at, done, disposition, place, data) VALUES (?, ?, ?, ?, ?, 0, ?, ?, ?)`,
			q.ID, t.id, q.By.Person.ID, q.Request, store.Micros(time.Now()), string(ack.Disposition), ack.Position, data)
		return err
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	case again != nil:
		return again, nil
	case full:
		return nil, &LimitError{Reason: viber.ReasonQueueFull, Message: fmt.Sprintf("%d messages wait already", ack.Position-1), RetryAfter: viber.RetryBusy}
	}
	t.w.noteMessage(t, q)
	q.at = time.Now()
	t.enqueue(q)
	return ack, nil
}

func disposition(m viber.InjectionMode) viber.Disposition {
	switch m {
	case viber.Steer:
		return viber.Steering
	case viber.Collect:
		return viber.Collecting
	}
	return viber.Queued
}

func (t *task) waiting() int { return len(t.steers) + len(t.followups) + len(t.collects) }

// enqueue puts an accepted message where its mode says.
func (t *task) enqueue(q *queued) {
	t.arrived++
	q.n = t.arrived
	switch q.Mode {
	case viber.Steer:
		t.steers = append(t.steers, q)
		t.steered()
	case viber.Collect:
		t.collects = append(t.collects, q)
		if t.idle() {
			t.collect.set(collectQuiet)
		}
	default:
		t.followups = append(t.followups, q)
		if t.idle() {
			t.turnOver()
		}
	}
}

// idle tells that the turn has ended and only collected messages keep the task
// from its end.
func (t *task) idle() bool { return t.ready && t.call == nil && t.batch == nil && len(t.asks) == 0 }

// steered lets a steer in as soon as can be.
func (t *task) steered() {
	switch {
	case t.interrupt():
		t.inject(t.takeSteers()...)
	case t.batch != nil && !t.batch.superseded:
		t.supersede()
	case t.idle():
		t.turnOver()
	}
}

func (t *task) takeSteers() []*queued {
	list := t.steers
	t.steers = nil
	return list
}

// turnOver decides what follows a turn that has ended by itself. Here, and only
// here, a task completes.
func (t *task) turnOver() {
	if t.over || t.ending || !t.idle() {
		return
	}
	t.collect.stop()
	switch {
	case len(t.steers) > 0:
		if !t.startTurns(t.takeSteers()...) {
			t.turnOver()
			return
		}
		t.think()
	case len(t.followups) > 0:
		next := t.followups[0]
		t.followups = t.followups[1:]
		if !t.startTurns(next) {
			t.turnOver() // it may not be heard any more
			return
		}
		t.think()
	case len(t.collects) > 0:
		t.collectTurn()
	default:
		t.complete()
	}
}

// collectTurn waits until nobody collects any more, then makes one turn of it all.
func (t *task) collectTurn() {
	last := t.collects[len(t.collects)-1]
	if wait := collectQuiet - time.Since(last.at); wait > 0 {
		t.collect.set(wait)
		return
	}
	list := t.heard(t.collects)
	t.collects = nil
	switch len(list) {
	case 0:
		t.turnOver()
		return
	case 1:
		t.startTurn(list[0], nil)
		t.think()
		return
	}
	joined := *list[0]
	texts, ids := make([]string, len(list)), make([]string, len(list))
	for i, q := range list {
		texts[i], ids[i] = q.Message.Content, q.ID
		joined.By = joined.By.Joined(q.By)
	}
	joined.Message = viber.ChatMessage{Role: viber.RoleUser, Content: strings.Join(texts, "\n\n")}
	t.startTurn(&joined, ids)
	t.think()
}

// inject gives messages to the model: each is a turn of its own, all of them are
// in the next call.
func (t *task) inject(list ...*queued) {
	t.startTurns(list...)
	t.think()
}

// startTurns begins a turn per message and reports whether there was one.
func (t *task) startTurns(list ...*queued) bool {
	list = t.heard(list)
	for _, q := range list {
		t.startTurn(q, nil)
	}
	return len(list) > 0
}

// heard leaves out messages whose token ended while they waited.
func (t *task) heard(list []*queued) (good []*queued) {
	for _, q := range list {
		if !t.w.gone(q.By) {
			good = append(good, q)
			continue
		}
		t.op(func(tx *store.Tx) error {
			_, err := tx.Exec(`UPDATE work_messages SET done = 1 WHERE id = ?`, q.ID)
			return err
		})
		t.w.noteRefused(t, q)
	}
	return good
}

func (t *task) startTurn(q *queued, ids []string) {
	t.cutText() // it is the former turn's
	t.turn++
	t.state.Steps, t.state.Tainted, t.state.Taint = 0, false, nil
	t.state.Reach = t.state.Reach.Intersect(q.By.Scopes)
	t.state.Others = t.state.Others || q.By.Person.ID != t.spec.By.Person.ID || q.By.Where == identity.AtMCP
	t.turnText.Reset()
	t.emit(&viber.TaskUserMessage{MessageID: q.ID, MessageIDs: ids, Message: q.Message, Mode: q.Mode, By: q.By.String()})
	t.out.row = true
	for _, m := range historyOf([]viber.ChatMessage{q.Message}) {
		if m.Role == model.User {
			m.Text = t.expand(m.Text)
		}
		t.remember(m)
	}
	if len(ids) == 0 {
		ids = []string{q.ID}
	}
	t.op(func(tx *store.Tx) error {
		for _, id := range ids {
			if _, err := tx.Exec(`UPDATE work_messages SET done = 1 WHERE id = ?`, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// expand makes "/NAME rest" into the skill of that name and the rest.
func (t *task) expand(text string) string {
	out, s := skillfile.Expand(text, t.skills)
	if s != nil {
		t.useSkill(*s)
	}
	return out
}

// unprocessed are the messages no model has seen, in the order they came.
func (t *task) unprocessed() []viber.QueuedMessage {
	list := sortQueued(t.steers, t.followups, t.collects)
	out := make([]viber.QueuedMessage, len(list))
	for i, q := range list {
		out[i] = q.wire()
	}
	return out
}

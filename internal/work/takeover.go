package work

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"parley.internal/internal/approval"
	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/tool"
	"parley.internal/internal/eventlog"
	"parley.internal/internal/files"
	"parley.internal/internal/lease"
	"parley.internal/internal/store"
	"parley.internal/protocol/viber"
)

// leftover is what a task's last owner left of it in the store.
type leftover struct {
	history  []model.Message
	messages []*queued
	asks     []viber.ApprovalRequired
	text     string
	last     int64
	at       time.Time // when the last event happened
}

// sweep takes over tasks that no living hub runs.
func (w *Work) sweep(ctx context.Context) error {
	ids, err := w.abandoned(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if w.runs(id) {
			continue
		}
		err := w.takeOver(ctx, id)
		if _, held := errors.AsType[*lease.HeldError](err); err != nil && !held {
			w.d.Logger.Warn("cannot take over a task", "task", id, "error", err)
		}
	}
	return nil
}

// abandoned lists open tasks whose lease nobody holds, or a dead hub, or this one,
// which may have failed to give it up. Those that run here are among them.
func (w *Work) abandoned(ctx context.Context) (ids []string, err error) {
	dead, err := w.d.Leases.Orphans(ctx, "task.", 200)
	if err != nil {
		return nil, err
	}
	err = w.d.DB.Read(ctx, func(tx *store.Tx) error {
		return tx.Each(store.Into(&ids), `SELECT t.id FROM work_tasks t LEFT JOIN leases l ON l.name = 'task.' || t.id
			WHERE t.ended_at = 0 AND (l.owner IS NULL OR l.owner IN ('', ?)) ORDER BY t.id LIMIT ?`, w.hub, w.d.Limits.RunningPerHub+200)
	})
	for _, name := range dead {
		ids = append(ids, name[len("task."):])
	}
	return ids, err
}

// takeOver makes a task this hub's own.
func (w *Work) takeOver(ctx context.Context, id string) error {
	l, err := w.d.Leases.Acquire(ctx, leaseName(id))
	if err != nil {
		return err
	}
	r, left, err := w.leftover(ctx, id)
	if err != nil || r.status.Ended() {
		if errors.Is(err, ErrNotFound) || err == nil {
			return l.Retire(ctx) // nothing was ever there, or it has ended
		}
		return errors.Join(err, l.Release(ctx))
	}
	t := newTask(w, r)
	t.lease, t.seq = l, left.last
	if w.tasks.Add(id, t, nil) != nil {
		return nil // it runs already, or this hub stops
	}
	w.workers.Add(1)
	w.d.Logger.Info("a task is taken over", "task", id, "on_restart", t.onRestart())
	go t.run(left)
	return nil
}

// leftover reads all of a task in one transaction.
func (w *Work) leftover(ctx context.Context, id string) (r record, left *leftover, err error) {
	err = w.d.DB.Read(ctx, func(tx *store.Tx) error {
		left = &leftover{}
		if r, err = loadRecord(tx, id); err != nil || r.status.Ended() {
			return err
		}
		bounds, err := eventlog.LastSeq(tx, streamName(id))
		if err != nil {
			return err
		}
		left.last = bounds.Last
		if page, err := w.d.Log.ReadTx(tx, streamName(id), max(bounds.Last-1, bounds.Oldest-1), 1); err != nil {
			return err
		} else if len(page) > 0 {
			left.at = page[0].At
		}
		if left.text, err = w.fullText(tx, &r, bounds); err != nil {
			return err
		}
		if left.asks, err = pendingApprovals(tx, `task = ?`, id); err != nil {
			return err
		}
		if left.messages, err = waitingMessages(tx, id); err != nil {
			return err
		}
		left.history, err = readHistory(tx, id)
		return err
	})
	return r, left, err
}

func readHistory(tx *store.Tx, id string) (list []model.Message, err error) {
	err = tx.Each(func(row *sql.Rows) error {
		var data sql.RawBytes
		if err := row.Scan(&data); err != nil {
			return err
		}
		var m model.Message
		err := json.Unmarshal(data, &m)
		list = append(list, m)
		return err
	}, `SELECT data FROM work_history WHERE task = ? ORDER BY n`, id)
	return list, err
}

func (t *task) onRestart() string {
	return cmp.Or(t.opts.OnRestart, viber.OnRestartContinue)
}

// maxRevived is how often a task is taken over without getting anywhere. One that is
// taken over so often may be what its hubs die of.
const maxRevived = 10

// restore goes on where the last owner stopped, or ends the task.
func (t *task) restore(left *leftover) {
	t.turnText.WriteString(left.text)
	t.historyN = int64(len(left.history))
	for _, q := range left.messages {
		t.arrived++
		q.n = t.arrived
		switch q.Mode {
		case viber.Steer:
			t.steers = append(t.steers, q)
		case viber.Collect:
			t.collects = append(t.collects, q)
		default:
			t.followups = append(t.followups, q)
		}
	}
	t.rebuild(left)
	if !t.waits() {
		t.state.Revived++
	}
	t.away(left.at)
	if t.onRestart() == viber.OnRestartFail || t.state.Revived > maxRevived {
		t.restarted()
		return
	}
	t.progress("the task goes on after a restart")
	t.prepare(t.resume)
}

// rebuild makes the history, and the batch whose calls have no result yet.
func (t *task) rebuild(left *leftover) {
	results := map[string]*model.Message{}
	for i := range left.history {
		if m := &left.history[i]; m.Role == model.Tool {
			results[m.CallID] = m
		}
	}
	said := 0 // bytes of this turn's text that the history has
	for i := range left.history {
		m := left.history[i]
		switch {
		case m.Role == model.Tool && t.usedIDs[m.CallID]:
			continue // stands behind its call
		case m.Role == model.User:
			said = 0
		case m.Role == model.Assistant && i >= t.state.Opening:
			said += len(m.Text)
		}
		t.history = append(t.history, m)
		if len(m.Calls) == 0 {
			continue
		}
		b := &batch{}
		for _, call := range m.Calls {
			t.usedIDs[call.ID] = true
			b.calls = append(b.calls, &openCall{Call: call, result: results[call.ID]})
		}
		if b.open() {
			t.batch = b
			continue
		}
		for _, c := range b.calls {
			t.history = append(t.history, *c.result)
		}
	}
	// What the model was saying when its hub went away stays said.
	switch rest := t.turnText.String(); {
	case len(t.history) == 0:
		t.cutShort = rest // the history is begun first
	case t.batch == nil && said < len(rest):
		t.rememberCut(rest[said:])
	}
	for i := range left.asks {
		t.reopen(&left.asks[i])
	}
}

// rememberCut keeps what the model had said when its call was cut short.
func (t *task) rememberCut(text string) {
	t.remember(model.Message{Role: model.Assistant, Text: text, Interrupted: true})
}

// reopen finds a question again in the inbox.
func (t *task) reopen(ev *viber.ApprovalRequired) {
	q := &question{id: ev.ApprovalID, event: ev}
	if t.batch != nil {
		for _, c := range t.batch.calls {
			if c.ID == ev.ToolCall.ID {
				q.call, c.approval = c, q.id
			}
		}
	}
	t.asks[q.id] = q
	t.pending = len(t.asks)
	t.status = viber.TaskPaused
	t.paused.Store(true)
}

// restarted ends a task that does not outlive its hub.
func (t *task) restarted() {
	t.withdrawAll("the hub was restarted")
	t.cancelCalls(tool.Interrupted, "the hub stopped before this call had a result; it may or may not have happened")
	t.fail(viber.ErrorInfo{
		Type: viber.CodeInternalError, Message: "the hub was restarted while the task ran", Recoverable: true, Suggestion: "submit again with the same key",
	}, viber.ReasonDaemonRestarted)
}

// resume goes on with what was open: questions wait on, calls of unknown outcome
// are not repeated.
func (t *task) resume() {
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	for _, q := range t.openQuestions() {
		pending, err := t.w.d.Inbox.Resume(ctx, q.id)
		if err != nil {
			t.internal("a question could not be found again", fmt.Errorf("%s: %w", q.id, err))
			return
		}
		q.pending = pending
		if (q.call == nil || t.session != nil) && q.event.ToolCall.Name != budgetTool {
			t.withdraw(q, "the program that asked has ended with its hub")
			continue
		}
		if q.call == nil {
			q.budget = t.reopenedBudget(pending.Item())
		} else if err := t.check(q.call); err != nil {
			t.withdraw(q, "the call is not possible any more")
			t.settleCall(q.call, tool.Result{}, err)
			continue
		}
		t.await(q)
	}
	t.recollect(ctx)
	if t.batch == nil {
		t.goOn()
		return
	}
	for _, c := range t.batch.calls {
		if t.asks[c.approval] == nil {
			t.settleCall(c, tool.Result{}, tool.Errorf(tool.Interrupted, "the hub stopped before this call had a result; it may or may not have happened"))
		}
	}
	if len(t.steers) > 0 {
		t.supersede()
		return
	}
	t.then(t.runNext)
}

// goOn decides what a task without open calls does next: an answer that was
// finished ends its turn, anything else is continued.
func (t *task) goOn() {
	if len(t.asks) > 0 {
		return // money was asked for
	}
	if len(t.history) == 0 {
		t.open()
		if t.cutShort != "" {
			t.rememberCut(t.cutShort)
		}
	}
	if n := len(t.history); n > 0 && t.history[n-1].Role == model.Assistant && !t.history[n-1].Interrupted {
		t.turnOver()
		return
	}
	if len(t.steers) > 0 {
		t.inject(t.takeSteers()...)
		return
	}
	t.think()
}

// recollect remembers what was allowed for the rest of the task.
func (t *task) recollect(ctx context.Context) {
	items, err := t.w.d.Inbox.List(ctx, approval.Filter{Task: t.id, States: []approval.State{approval.StateApproved}, Limit: 1000})
	if err != nil {
		t.w.d.Logger.Warn("cannot read what was allowed", "task", t.id, "error", err)
	}
	for _, item := range items {
		if item.Outcome.Remember == approval.RememberTask {
			t.remembered[rememberKey(&openCall{Call: model.Call{Name: item.Tool}, args: item.Arguments})] = item.Outcome.By
		}
	}
}

// reopenedBudget reads the limit a question was about.
func (t *task) reopenedBudget(item approval.Item) *budgetLimit {
	var args struct {
		Used  float64 `json:"used_usd"`
		Limit float64 `json:"limit_usd"`
	}
	_ = json.Unmarshal(item.Arguments, &args) // ours: it can be read
	limits, _ := t.limits()
	for _, l := range limits {
		if usd(l.limit) == args.Limit {
			return &l
		}
	}
	return &budgetLimit{span: spanTask, used: int64(args.Used * 1e6), limit: int64(args.Limit * 1e6), hard: true}
}

// purge forgets the logs and keys of tasks that ended long ago. Their snapshot and
// end stay.
func (w *Work) purge(ctx context.Context, now time.Time) error {
	before := store.Micros(now.Add(-w.d.Limits.Keep))
	var old []string
	err := w.d.DB.Read(ctx, func(tx *store.Tx) error {
		return tx.Each(store.Into(&old), `SELECT id FROM work_tasks WHERE purged = 0 AND ended_at > 0 AND ended_at < ? ORDER BY ended_at LIMIT 500`, before)
	})
	if err != nil {
		return err
	}
	for _, id := range old {
		if err := w.purgeTask(ctx, id); err != nil {
			return err
		}
	}
	return w.d.DB.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`DELETE FROM work_keys WHERE expires_at > 0 AND expires_at < ?`, store.Micros(now))
		return err
	})
}

func (w *Work) purgeTask(ctx context.Context, id string) error {
	bounds, err := w.d.Log.Bounds(ctx, streamName(id))
	if err != nil {
		return err
	}
	if err := w.d.Log.Trim(ctx, nil, streamName(id), bounds.Last); err != nil {
		return err
	}
	return w.d.DB.Write(ctx, func(tx *store.Tx) error {
		for _, query := range []string{
			`DELETE FROM work_history WHERE task = ?`, `DELETE FROM work_messages WHERE task = ?`,
			`DELETE FROM work_approvals WHERE task = ?`, `UPDATE work_tasks SET purged = 1 WHERE id = ?`,
		} {
			if _, err := tx.Exec(query, id); err != nil {
				return err
			}
		}
		return files.ReleaseTx(tx, files.Task(id))
	})
}

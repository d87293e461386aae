package work

import (
	"context"
	"time"

	"github.com/go-json-experiment/json"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/eventlog"
	"parley.internal/internal/store"
	"parley.internal/protocol/viber"
)

// maxDelta is how much text one delta holds: a slow disk must not make frames
// that nobody can send.
const maxDelta = 64 << 10

// write is what a task has to make durable: events, and what belongs to them.
type write struct {
	events []viber.TaskEvent
	row    bool // the task's row changed
	ops    []func(tx *store.Tx) error
	// history is what the model was told and said. Once the task ends nobody needs it.
	history []historyRow
	// then runs once it is on disk, failed when it cannot be.
	then   []func()
	failed []func(error)
}

// plain tells that there are only events, which need no transaction of their own.
func (w *write) plain() bool { return !w.row && len(w.ops) == 0 && len(w.history) == 0 }

// emit adds an event to the next commit.
func (t *task) emit(ev viber.TaskEvent) {
	if t.ending {
		return // nothing follows the end
	}
	t.cutText()
	ref := ev.Ref()
	ref.TaskID, ref.Turn = t.id, t.turn
	t.out.events = append(t.out.events, ev)
}

// say adds text of the model to the turn.
func (t *task) say(text string) {
	if t.ending {
		return
	}
	t.turnText.WriteString(text)
	if !t.opts.StreamDeltas {
		if time.Since(t.checkpointed) >= checkpointEvery {
			t.out.row = true
		}
		return
	}
	if len(t.text) > 0 && len(t.text)+len(text) > maxDelta {
		t.cutText()
	}
	t.text = append(t.text, text...)
}

// cutText makes a delta of the text that waits.
func (t *task) cutText() {
	if len(t.text) == 0 {
		return
	}
	t.out.events = append(t.out.events, &viber.TaskDelta{
		TaskRef: viber.TaskRef{TaskID: t.id, Turn: t.turn}, DeltaType: viber.DeltaText, Text: string(t.text),
	})
	t.text = t.text[:0]
}

// op adds something to the transaction of the next commit. It may run more than
// once; the events before it have their numbers by then.
func (t *task) op(fn func(tx *store.Tx) error) { t.out.ops = append(t.out.ops, fn) }

// then runs fn once everything so far is on disk.
func (t *task) then(fn func()) { t.out.then = append(t.out.then, fn) }

// commitBeforeWait commits what should be on disk before the task waits for anything. Text
// alone is handed over, and the task goes on.
func (t *task) commitBeforeWait() {
	for !t.over {
		switch {
		case len(t.out.events) > 0, !t.out.plain(), len(t.out.then) > 0:
			t.commit()
		case len(t.text) > 0 && t.logBytes > t.w.d.Limits.LogBytes:
			t.commit() // which shortens the log
		case len(t.text) > 0:
			if !t.maySend() {
				return
			}
			t.sendText()
			return
		default:
			return
		}
	}
}

// maySend tells whether the text that waits may be handed over now; if not, the
// task is woken when it may.
func (t *task) maySend() bool {
	if t.air.wanted() {
		return false
	}
	t.heedLanding()
	if wait := flushEvery - time.Since(t.flushed); wait > 0 {
		t.flush.set(wait)
		return false
	}
	return !t.over
}

// commit writes what waits, then does what was to follow.
func (t *task) commit() {
	t.land()
	if t.over {
		return
	}
	t.cutText()
	out := t.out
	t.out = write{}
	if !out.plain() && len(t.opened) > 0 {
		out.row, out.history, t.opened = true, append(t.opened, out.history...), nil
	}
	if err := t.put(&out); err != nil {
		for _, fn := range out.failed {
			fn(err)
		}
		t.unwritten(err)
		return
	}
	t.flushed = time.Now()
	for _, fn := range out.then {
		fn()
	}
	t.shorten()
}

func (t *task) put(out *write) error {
	if len(out.events) == 0 && out.plain() {
		return nil
	}
	events := make([]eventlog.Event, len(out.events))
	size := 0
	for i, ev := range out.events {
		e, err := encodeEvent(ev)
		if err != nil {
			return err
		}
		events[i], events[i].At = e, ev.Ref().At
		size += eventSize(e.Kind, e.Data)
	}
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	if out.plain() {
		first, err := t.w.d.Log.Append(ctx, t.lease, t.stream, events...)
		if err != nil {
			return err
		}
		t.number(out.events, first)
	} else if err := t.transact(ctx, out, events); err != nil {
		return err
	}
	if n := len(out.events); n > 0 {
		t.seq = out.events[n-1].Ref().Seq
	}
	t.logBytes += size
	return nil
}

func (t *task) number(events []viber.TaskEvent, first int64) {
	for i, ev := range events {
		ev.Ref().Seq = first + int64(i)
	}
}

// transact writes events and everything beside them in one transaction.
func (t *task) transact(ctx context.Context, out *write, events []eventlog.Event) error {
	var added eventlog.Appended
	fill := func(tx *store.Tx) (err error) {
		if added, err = t.w.d.Log.AppendTx(tx, t.lease, t.stream, events...); err != nil {
			return err
		}
		t.number(out.events, added.First())
		if err := t.writeRow(tx, out, events); err != nil {
			return err
		}
		if err := t.writeHistory(tx, out.history); err != nil {
			return err
		}
		for _, op := range out.ops {
			if err := op(tx); err != nil {
				return err
			}
		}
		return nil
	}
	err := t.w.d.DB.Write(ctx, fill)
	if err = t.w.d.Log.Resolve(ctx, err, added, fill); err != nil {
		return err
	}
	t.w.d.Log.Publish(added)
	if out.row {
		t.checkpointed = time.Now()
	}
	return nil
}

// writeRow writes the task's row, if it changed.
func (t *task) writeRow(tx *store.Tx, out *write, events []eventlog.Event) error {
	if !out.row {
		return nil
	}
	t.textSeq = t.seq
	n := len(out.events)
	if n > 0 {
		t.textSeq = out.events[n-1].Ref().Seq
	}
	t.state.LogBytes = t.logBytes
	if t.ending {
		t.endKind, t.endEvent = viber.Type(events[n-1].Kind), events[n-1].Data
		return t.record.end(tx)
	}
	t.record.text = t.turnText.String()
	return t.update(tx)
}

// historyRow is a message of the history and its place.
type historyRow struct {
	n   int64
	msg model.Message
}

func (t *task) historyRow(m model.Message) historyRow {
	t.historyN++
	return historyRow{t.historyN - 1, m}
}

func (t *task) writeHistory(tx *store.Tx, rows []historyRow) error {
	if t.ending {
		return nil
	}
	for _, row := range rows {
		data, err := json.Marshal(row.msg, anyText)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(`INSERT INTO work_history (task, n, data) VALUES (?, ?, ?)`, t.id, row.n, data); err != nil {
			return err
		}
	}
	return nil
}

// remember adds a message to the history, durably with the next transaction.
func (t *task) remember(m model.Message) {
	t.history = append(t.history, m)
	t.keep(m)
}

func (t *task) keep(m model.Message) {
	t.out.history = append(t.out.history, t.historyRow(m))
}

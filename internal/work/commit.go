package work

import (
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json"

	"parley/internal/brain/model"
	"parley/internal/eventlog"
	"parley/internal/lease"
	"parley/internal/store"
	"parley/protocol/viber"
)

// maxDelta is how much text one delta holds: a slow disk must not make frames
// that nobody can send.
const maxDelta = 64 << 10

// write is what a task has to make durable: events, and what belongs to them.
type write struct {
	events []viber.TaskEvent
	row    bool // the task's row changed
	ops    []func(tx *store.Tx) error
	// then runs once it is on disk, failed when it cannot be.
	then   []func()
	failed []func(error)
}

func (w *write) plain() bool { return !w.row && len(w.ops) == 0 }

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
	if t.text.Len() > 0 && t.text.Len()+len(text) > maxDelta {
		t.cutText()
	}
	t.text.WriteString(text)
}

// cutText makes a delta of the text that waits.
func (t *task) cutText() {
	if t.text.Len() == 0 {
		return
	}
	t.out.events = append(t.out.events, &viber.TaskDelta{
		TaskRef: viber.TaskRef{TaskID: t.id, Turn: t.turn}, DeltaType: viber.DeltaText, Text: t.text.String(),
	})
	t.text.Reset()
}

// op adds something to the transaction of the next commit. It may run more than
// once; the events before it have their numbers by then.
func (t *task) op(fn func(tx *store.Tx) error) { t.out.ops = append(t.out.ops, fn) }

// then runs fn once everything so far is on disk.
func (t *task) then(fn func()) { t.out.then = append(t.out.then, fn) }

// settle commits what should be on disk before the task waits for anything.
func (t *task) settle() {
	for !t.over {
		switch {
		case len(t.out.events) > 0, t.out.row, len(t.out.ops) > 0, len(t.out.then) > 0:
		case t.text.Len() > 0:
			if wait := flushEvery - time.Since(t.flushed); wait > 0 {
				t.flush.Reset(wait)
				return
			}
		default:
			return
		}
		t.commit()
	}
}

// commit writes what waits, then does what was to follow.
func (t *task) commit() {
	t.cutText()
	out := t.out
	t.out = write{}
	if err := t.put(&out); err != nil {
		for _, fn := range out.failed {
			fn(err)
		}
		if errors.Is(err, lease.ErrLost) {
			t.lose()
			return
		}
		t.broken(err)
		return
	}
	t.flushed = time.Now()
	for _, fn := range out.then {
		fn()
	}
	t.trim()
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
		events[i] = e
		size += len(e.Data) + len(e.Kind) + 32
	}
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	if out.plain() {
		first, err := t.w.d.Log.Append(ctx, t.lease, streamName(t.id), events...)
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
	err := t.w.d.DB.Write(ctx, func(tx *store.Tx) (err error) {
		if added, err = t.w.d.Log.AppendTx(tx, t.lease, streamName(t.id), events...); err != nil {
			return err
		}
		t.number(out.events, added.First())
		if out.row {
			t.textSeq = t.seq
			if n := len(out.events); n > 0 {
				t.textSeq = out.events[n-1].Ref().Seq
			}
			t.record.text, t.state.LogBytes = t.turnText.String(), t.logBytes
			if err := t.update(tx); err != nil {
				return err
			}
		}
		for _, op := range out.ops {
			if err := op(tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	t.w.d.Log.Publish(added)
	if out.row {
		t.checkpointed = time.Now()
	}
	return nil
}

// remember adds a message to the history, durably with the next commit.
func (t *task) remember(m model.Message) {
	t.history = append(t.history, m)
	t.keep(m)
}

func (t *task) keep(m model.Message) {
	n := t.historyN
	t.historyN++
	t.op(func(tx *store.Tx) error {
		data, err := json.Marshal(m, anyText)
		if err != nil {
			return err
		}
		_, err = tx.Exec(`INSERT INTO work_history (task, n, data) VALUES (?, ?, ?)`, t.id, n, data)
		return err
	})
}

// trim forgets the older half of a log that has grown too large. Snapshots need
// none of it: the row has the text.
func (t *task) trim() {
	if t.over || t.logBytes <= t.w.d.Limits.LogBytes {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	out := write{row: true}
	bounds, err := t.w.d.Log.Bounds(ctx, streamName(t.id))
	if err == nil {
		err = t.transact(ctx, &out, nil)
	}
	if err == nil {
		err = t.w.d.Log.Trim(ctx, t.lease, streamName(t.id), bounds.Oldest+(bounds.Last-bounds.Oldest+1)/2)
	}
	if err != nil {
		t.w.d.Logger.Warn("cannot shorten the log of a task", "task", t.id, "error", err)
		return
	}
	t.logBytes /= 2
}

package work

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"time"

	"github.com/go-json-experiment/json"

	"parley.internal/internal/eventlog"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/protocol/viber"
)

// Snapshot is a task as it is now. See [API].
func (w *Work) Snapshot(ctx context.Context, who identity.Actor, id string) (*viber.TaskSnapshot, error) {
	snap, _, _, err := w.snapshot(ctx, who, cleanID(id))
	return snap, err
}

// snapshot reads everything in one transaction, so that all of it is of one
// moment: the one after event LastSeq.
func (w *Work) snapshot(ctx context.Context, who identity.Actor, id string) (*viber.TaskSnapshot, *record, viber.TaskEvent, error) {
	var r record
	var snap viber.TaskSnapshot
	err := w.d.DB.Read(ctx, func(tx *store.Tx) (err error) {
		if r, err = loadRecord(tx, id); err != nil {
			return err
		}
		if !who.Owns(r.principal) {
			return ErrNotFound
		}
		bounds, err := eventlog.LastSeq(tx, streamName(id))
		if err != nil {
			return err
		}
		snap = r.snapshot(bounds)
		if snap.Text, err = w.fullText(tx, &r, bounds); err != nil {
			return err
		}
		if r.status.Ended() {
			return nil
		}
		if snap.PendingApprovals, err = pendingApprovals(tx, `task = ?`, id); err != nil {
			return err
		}
		list, err := waitingMessages(tx, id)
		for _, q := range list {
			snap.QueuedMessages = append(snap.QueuedMessages, q.wire())
		}
		return err
	})
	if err != nil {
		return nil, nil, nil, err
	}
	var end viber.TaskEvent
	if r.status.Ended() {
		end, err = r.endEventAt(snap.LastSeq)
		snap.EndedAt = viber.At(r.ended)
		if failed, ok := end.(*viber.TaskError); ok {
			snap.Error = &failed.Error
		}
	}
	return &snap, &r, end, err
}

func (r *record) snapshot(b eventlog.Bounds) viber.TaskSnapshot {
	return viber.TaskSnapshot{
		TaskID: r.id, Status: r.status, Goal: r.goal, IdempotencyKey: r.spec.Key, StartedAt: viber.At(r.started), Agent: r.agent,
		LastSeq: b.Last, OldestSeq: b.Oldest, Turn: r.turn, Plan: r.state.Plan, Usage: wireUsage(r.usage),
		PendingApprovals: []viber.ApprovalRequired{}, QueuedMessages: []viber.QueuedMessage{},
	}
}

// fullText is the text of the turn: what the row has, and the deltas after it.
func (w *Work) fullText(tx *store.Tx, r *record, bounds eventlog.Bounds) (string, error) {
	if r.status.Ended() {
		return r.endText()
	}
	text := []byte(r.text)
	for after := max(r.textSeq, bounds.Oldest-1); after < bounds.Last; {
		page, err := w.d.Log.ReadTx(tx, streamName(r.id), after, eventPage)
		if err != nil {
			return "", err
		}
		for _, e := range page {
			x, isText, err := readTexts(e, after)
			if err != nil {
				return "", err
			}
			if isText && int(x.turn) == r.turn {
				text = append(text, x.text...)
			}
			after = e.Seq
		}
	}
	return string(text), nil
}

// pendingApprovals reads questions that wait, with what is left of their time.
func pendingApprovals(tx *store.Tx, where string, args ...any) ([]viber.ApprovalRequired, error) {
	list := []viber.ApprovalRequired{}
	now := time.Now()
	err := tx.Each(func(row *sql.Rows) error {
		var task string
		var seq, expires int64
		var data sql.RawBytes
		if err := row.Scan(&task, &seq, &expires, &data); err != nil {
			return err
		}
		var a viber.ApprovalRequired
		if err := json.Unmarshal(data, &a); err != nil {
			return err
		}
		a.TaskID, a.Seq, a.TimeoutMS = task, seq, max(store.Time(expires).Sub(now).Milliseconds(), 1)
		list = append(list, a)
		return nil
	}, `SELECT task, seq, expires_at, data FROM work_approvals WHERE resolved_seq = 0 AND `+where+` ORDER BY id`, args...)
	return list, err
}

func waitingMessages(tx *store.Tx, task string) (list []*queued, err error) {
	err = tx.Each(func(row *sql.Rows) error {
		var data sql.RawBytes
		var at int64
		if err := row.Scan(&at, &data); err != nil {
			return err
		}
		q := &queued{at: store.Time(at)}
		list = append(list, q)
		return json.Unmarshal(data, q)
	}, `SELECT at, data FROM work_messages WHERE task = ? AND done = 0 ORDER BY at, id`, task)
	return list, err
}

// Follow gives a snapshot and what follows. See [API].
func (w *Work) Follow(ctx context.Context, who identity.Actor, id string, after int64) (*Stream, error) {
	snap, r, end, err := w.snapshot(ctx, who, cleanID(id))
	if err != nil {
		return nil, err
	}
	if after > snap.LastSeq || after < 0 {
		return nil, ErrBadCursor
	}
	if after < snap.OldestSeq-1 {
		snap.Gap, after = true, snap.OldestSeq-1
	}
	s := w.stream(r, snap, after)
	if end != nil && after >= snap.LastSeq-1 {
		s.events = onlyEnd(end, after)
	}
	return s, nil
}

// onlyEnd is the stream of an ended task of which at most the end is wanted.
func onlyEnd(end viber.TaskEvent, after int64) func(context.Context) iter.Seq2[viber.TaskEvent, error] {
	return func(context.Context) iter.Seq2[viber.TaskEvent, error] {
		return func(yield func(viber.TaskEvent, error) bool) {
			if end.Ref().Seq > after {
				yield(end, nil)
			}
		}
	}
}

// stream follows a task's log to its end.
func (w *Work) stream(r *record, snap *viber.TaskSnapshot, after int64) *Stream {
	id := r.id
	return &Stream{TaskID: id, Snapshot: snap, principal: r.principal, events: func(ctx context.Context) iter.Seq2[viber.TaskEvent, error] {
		return func(yield func(viber.TaskEvent, error) bool) {
			last := after
			for e, err := range w.d.Log.Follow(ctx, streamName(id), after) {
				var ev viber.TaskEvent
				if err == nil {
					ev, err = decodeEvent(id, e, last)
					last = e.Seq
				}
				if err != nil {
					yield(nil, lagged(err))
					return
				}
				if !yield(ev, nil) || viber.Ends(ev) {
					return
				}
			}
		}
	}}
}

// lagged names what happened to a reader whose events were forgotten meanwhile.
func lagged(err error) error {
	if _, ok := errors.AsType[*eventlog.TrimmedError](err); ok {
		return ErrLagged
	}
	return err
}

// eventPage is how many events are read at once.
const eventPage = 500

// Events gives what is logged after an event, and ends. See [API].
func (w *Work) Events(ctx context.Context, who identity.Actor, id string, after int64) iter.Seq2[viber.TaskEvent, error] {
	return func(yield func(viber.TaskEvent, error) bool) {
		snap, _, _, err := w.snapshot(ctx, who, cleanID(id))
		if err == nil && (after > snap.LastSeq || after < 0) {
			err = ErrBadCursor
		}
		if err != nil {
			yield(nil, err)
			return
		}
		after = max(after, snap.OldestSeq-1)
		for after < snap.LastSeq {
			page, err := w.d.Log.Read(ctx, streamName(snap.TaskID), after, eventPage)
			if err != nil {
				yield(nil, lagged(err))
				return
			}
			for _, e := range page {
				ev, err := decodeEvent(snap.TaskID, e, after)
				if !yield(ev, err) || err != nil || e.Seq >= snap.LastSeq {
					return
				}
				after = e.Seq
			}
		}
	}
}

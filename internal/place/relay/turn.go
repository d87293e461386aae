package relay

import (
	"errors"
	"time"

	"parley.internal/internal/store"
	"parley.internal/internal/turns"
	"parley.internal/protocol/mmp"
)

// turn is one transaction, with everything that was asked for while the one before it
// was on its way to the disk. It is made anew when the transaction is run again.
type turn struct {
	r     *Relay
	tx    *store.Tx
	now   time.Time
	batch []*turns.Call[*request]
	// rows, gone and notes are still to be written.
	rows  []any
	gone  []any
	notes []Note
	// came counts, by queue, what it put in less what it took out; count and bytes are
	// the same of all queues.
	came         map[string]int64
	count, bytes int64
}

// run does all requests: those that empty queues come first. What is refused is the
// request's own error.
func (t *turn) run() error {
	if err := t.look(); err != nil {
		return err
	}
	for _, do := range []func(*request) error{t.other, t.take, t.send} {
		for _, c := range t.batch {
			if err := t.keep(c, do(c.What)); err != nil {
				return err
			}
		}
	}
	if err := t.write(); err != nil {
		return err
	}
	return t.r.d.Note(t.tx, t.now, t.notes)
}

func (t *turn) look() error {
	var sends []*Sending
	var takes []*Receiving
	var queues []string
	for _, c := range t.batch {
		c.Err = nil
		switch q := c.What; {
		case q.send != nil:
			sends, queues = append(sends, q.send), append(queues, q.send.Message.Recipient)
		case q.take != nil:
			takes = append(takes, q.take)
		}
	}
	if err := t.r.ledger.begin(t, queues); err != nil {
		return err
	}
	return t.r.d.Judge.Look(t.tx, t.now, sends, takes)
}

// keep keeps a refusal for its request and passes trouble on.
func (t *turn) keep(c *turns.Call[*request], err error) error {
	if _, refused := errors.AsType[mmp.Error](err); refused {
		c.Err = err
		return nil
	}
	return err
}

func (t *turn) other(q *request) error {
	if q.other == nil {
		return nil
	}
	// What another request of this turn has ended is not found again.
	if err := t.writeGone(); err != nil {
		return err
	}
	return q.other(t)
}

func (t *turn) note(action string, m *Message, reason string) {
	t.notes = append(t.notes, Note{Action: action, Reason: reason, Message: m})
}

// SQLite need not keep a copy of each page it changes to undo a statement of many
// rows: with OR FAIL a statement is never undone by itself, and the transaction is,
// if one fails.
const (
	newRow  = `(?, ?, ?, ?, ?, ?, ?, ?, ?, 0, '', ?, ?, ?, ?, 0, 0, ?, ?`
	intoRow = ` INTO place_messages (id, sender, recipient, peer, type, hash, size, proven, tracked, state, reason, idem,
		created_at, expires_at, changed_at, leased_until, attempt, next_at, blob`
)

var (
	newRows = map[store.Dialect]store.Rows{
		store.SQLite:   store.ManyRows(`INSERT OR FAIL`+intoRow+`, num) VALUES `, newRow+`, ?)`, ``),
		store.Postgres: store.ManyRows(`INSERT`+intoRow+`) VALUES `, newRow+`)`, ``),
	}
	deleteRows = store.ManyRows(`DELETE FROM place_messages WHERE num IN (`, `?`, `)`)
)

// appendRow adds the values of a new row. Only SQLite is given numbers.
func appendRow(to []any, d store.Dialect, m *Message) []any {
	blob := m.Blob
	if blob == nil {
		blob = []byte{}
	}
	to = append(to, m.ID, m.Sender, m.Recipient, m.Peer, m.Kind, m.Hash, m.Size, store.Bool(m.Proven), store.Bool(m.Tracked), m.Key,
		store.Micros(m.Created), store.Micros(m.Expires), store.Micros(m.Created), store.Micros(m.Next), blob)
	if d == store.SQLite {
		to = append(to, m.Num)
	}
	return to
}

// add puts a message at the end of its queue.
func (t *turn) add(m *Message) {
	t.r.name(m, t.now)
	t.rows = appendRow(t.rows, t.tx.Dialect(), m)
	t.r.ledger.came(m)
	t.came[m.Recipient]++
	t.bytes += m.Size
	t.count++
	t.note(Enqueue, m, "")
}

// end takes a message out of its queue. Only what somebody may still ask for leaves a
// trace.
func (t *turn) end(m *Message, state State, action, reason string) error {
	t.r.ledger.went(m)
	if m.Expires.After(t.now) {
		t.came[m.Recipient]--
	}
	t.bytes -= m.Size
	t.count--
	t.note(action, m, reason)
	if !m.Tracked {
		t.gone = append(t.gone, m.Num)
		return nil
	}
	_, err := t.tx.Exec(`UPDATE place_messages SET state = ?, reason = ?, changed_at = ?, leased_until = 0, blob = ? WHERE num = ?`,
		int(state), reason, store.Micros(t.now), []byte{}, m.Num)
	return err
}

// write writes what is still to be written.
func (t *turn) write() error {
	if len(t.rows) > 0 {
		rows := newRows[t.tx.Dialect()]
		if err := rows.Exec(t.tx, t.rows); err != nil {
			return err
		}
		t.rows = t.rows[:0]
	}
	return t.writeGone()
}

func (t *turn) writeGone() error {
	err := deleteRows.Exec(t.tx, t.gone)
	t.gone = t.gone[:0]
	return err
}

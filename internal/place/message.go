package place

import (
	"database/sql"
	"time"

	"parley/internal/store"
	"parley/protocol/mmp"
	"parley/protocol/mmp/relay"
)

// The states of a message; only a queued one has its blob.
const (
	stateQueued = iota
	stateReceived
	stateForwarded
	stateExpired
	stateDropped
	stateRefused
)

// keepFates is how long a finished message can still be asked for, and how long
// an idempotency key counts.
const keepFates = 24 * time.Hour

// message is one in the relay.
type message struct {
	num                                          int64
	id, sender, recipient, peer, kind, hash      string
	size                                         int64
	proven, tracked                              bool
	state                                        int
	reason, idem                                 string
	created, expires, changed, leasedUntil, next time.Time
	attempt                                      int
	blob                                         []byte
}

// Without the blob: it is large, and most looks do not need it.
const messageColumns = `num, id, sender, recipient, peer, type, hash, size, proven, tracked, state, reason, idem,
	created_at, expires_at, changed_at, leased_until, attempt, next_at`

func scanMessage(r store.Row, blob bool) (*message, error) {
	var m message
	var isProven, tracked, created, expires, changed, leased, next int64
	into := []any{
		&m.num, &m.id, &m.sender, &m.recipient, &m.peer, &m.kind, &m.hash, &m.size, &isProven, &tracked, &m.state, &m.reason, &m.idem,
		&created, &expires, &changed, &leased, &m.attempt, &next,
	}
	if blob {
		into = append(into, &m.blob)
	}
	err := r.Scan(into...)
	m.proven, m.tracked = isProven != 0, tracked != 0
	m.created, m.expires, m.changed, m.leasedUntil, m.next = store.Time(created), store.Time(expires), store.Time(changed), store.Time(leased), store.Time(next)
	return &m, err
}

// finish ends a message's time in its queue. Only what somebody may still ask for
// leaves a trace.
func (m *message) finish(tx *store.Tx, state int, reason string, now time.Time) error {
	var err error
	if m.tracked {
		_, err = tx.Exec(`UPDATE place_messages SET state = ?, reason = ?, changed_at = ?, leased_until = 0, blob = ? WHERE num = ?`,
			state, reason, store.Micros(now), []byte{}, m.num)
	} else {
		_, err = tx.Exec(`DELETE FROM place_messages WHERE num = ?`, m.num)
	}
	return err
}

func (m *message) wire() relay.Message {
	return relay.Message{
		ID: m.id, From: m.sender, To: m.recipient, MessageType: m.kind, Blob: string(m.blob), BlobHash: m.hash,
		CreatedAt: mmp.At(m.created), ExpiresAt: mmp.At(m.expires), SenderProven: m.proven,
	}
}

// messages collects the rows of a query.
func messages(tx *store.Tx, blob bool, query string, args ...any) ([]*message, error) {
	var out []*message
	err := tx.Each(func(r *sql.Rows) error {
		m, err := scanMessage(r, blob)
		out = append(out, m)
		return err
	}, query, args...)
	return out, err
}

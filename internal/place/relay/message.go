package relay

import (
	"database/sql"
	"time"

	"parley.internal/internal/store"
	"parley.internal/protocol/mmp"
	wire "parley.internal/protocol/mmp/relay"
)

// State is where a message is in its life; only a queued one has its blob.
type State int

// The states.
const (
	Queued State = iota
	Received
	Forwarded
	Expired
	Dropped
	Refused
)

var fates = map[State]wire.Fate{
	Received: wire.FateReceived, Forwarded: wire.FateForwarded, Expired: wire.FateExpired, Dropped: wire.FateDropped, Refused: wire.FateRefused,
}

// KeepFates is how long a finished message can still be asked for, and how long an
// idempotency key counts.
const KeepFates = 24 * time.Hour

// Message is one of the relay: a row of place_messages, which is the only place where
// it is kept.
type Message struct {
	// Num is its place in the order of commits.
	Num                                          int64
	ID, Sender, Recipient, Peer, Kind, Hash, Key string
	Size                                         int64
	// Proven says that the sender has shown its key, Tracked that somebody may ask what
	// became of it.
	Proven, Tracked                              bool
	State                                        State
	Reason                                       string
	Created, Expires, Changed, LeasedUntil, Next time.Time
	Attempt                                      int
	Blob                                         []byte
}

// Fate is what became of a message, by now.
func (m *Message) Fate(now time.Time) wire.Fate {
	switch {
	case m.State != Queued:
		return fates[m.State]
	case !m.Expires.After(now):
		return wire.FateExpired
	case m.LeasedUntil.After(now):
		return wire.FateLeased
	}
	return wire.FateQueued
}

// Wire is the message as its recipient gets it.
func (m *Message) Wire() wire.Message {
	return wire.Message{
		ID: m.ID, From: m.Sender, To: m.Recipient, MessageType: m.Kind, Blob: string(m.Blob), BlobHash: m.Hash,
		CreatedAt: mmp.At(m.Created), ExpiresAt: mmp.At(m.Expires), SenderProven: m.Proven,
	}
}

// Without the blob: it is large, and most looks do not need it.
const columns = `num, id, sender, recipient, peer, type, hash, size, proven, tracked, state, reason, idem,
	created_at, expires_at, changed_at, leased_until, attempt, next_at`

const (
	selectHeads = `SELECT ` + columns + ` FROM place_messages WHERE `
	selectWhole = `SELECT ` + columns + `, blob FROM place_messages WHERE `
)

func scan(r store.Row, blob bool) (*Message, error) {
	var m Message
	var proven, tracked, created, expires, changed, leased, next int64
	into := []any{
		&m.Num, &m.ID, &m.Sender, &m.Recipient, &m.Peer, &m.Kind, &m.Hash, &m.Size, &proven, &tracked, &m.State, &m.Reason, &m.Key,
		&created, &expires, &changed, &leased, &m.Attempt, &next,
	}
	if blob {
		into = append(into, &m.Blob)
	}
	err := r.Scan(into...)
	m.Proven, m.Tracked = proven != 0, tracked != 0
	m.Created, m.Expires, m.Changed, m.LeasedUntil, m.Next = store.Time(created), store.Time(expires), store.Time(changed), store.Time(leased), store.Time(next)
	return &m, err
}

// heads collects the messages of a query that begins with selectHeads, and whole those
// of one that begins with selectWhole.
func heads(tx *store.Tx, query string, args ...any) ([]*Message, error) {
	return collect(tx, false, query, args)
}

func whole(tx *store.Tx, query string, args ...any) ([]*Message, error) {
	return collect(tx, true, query, args)
}

func collect(tx *store.Tx, blob bool, query string, args []any) ([]*Message, error) {
	var out []*Message
	err := tx.Each(func(r *sql.Rows) error {
		m, err := scan(r, blob)
		out = append(out, m)
		return err
	}, query, args...)
	return out, err
}

var (
	headsOf = store.ManyRows(selectHeads+`num IN (`, `?`, `) ORDER BY num`)
	wholeOf = store.ManyRows(selectWhole+`num IN (`, `?`, `) ORDER BY num`)
)

// byNumber reads messages by their numbers, which are in order.
func byNumber(tx *store.Tx, blob bool, nums []any) (out []*Message, err error) {
	rows := headsOf
	if blob {
		rows = wholeOf
	}
	err = rows.Run(tx, nums, func(query string, args []any) error {
		found, err := collect(tx, blob, query, args)
		out = append(out, found...)
		return err
	})
	return out, err
}

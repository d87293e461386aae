// Package relaytest is the contract of the relay: what holds whichever ledger it has.
// Contract tells it in stories, Model holds it against a simple list through restarts,
// refused writes and passing time.
package relaytest

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"parley.internal/internal/place/relay"
	"parley.internal/internal/store"
	"parley.internal/protocol/mmp"
)

// TTL is how long messages of a house live.
const TTL = 10 * time.Minute

// House is a relay on a database, with a clock of its own and a judge that lets
// everybody do everything.
type House struct {
	*relay.Relay
	DB    *store.DB
	Ahead *atomic.Int64 // of the clock
	// Closed has full queues refuse, and Turned turns this sender away.
	Closed bool
	Turned string
	Limit  int
	// Dir is where an earlier release may have left something.
	Dir  string
	next int
}

// Open opens a relay. On a database that has one it stands for a hub that comes after
// another ended without a word.
func Open(t testing.TB, db *store.DB, limit int) *House {
	t.Helper()
	h := &House{DB: db, Ahead: &atomic.Int64{}, Limit: limit}
	h.Reopen(t)
	return h
}

// Reopen is the end of a hub without a word, and the start of another.
func (h *House) Reopen(t testing.TB) {
	t.Helper()
	r, err := relay.Open(t.Context(), relay.Deps{
		DB: h.DB, Dir: h.Dir, Judge: (*judge)(h), Note: note, Log: slog.New(slog.DiscardHandler), Now: h.Now, Limit: h.Limit, MaxBytes: 1 << 30, Soft: true,
	})
	if err != nil {
		t.Fatalf("the relay does not open: %v", err)
	}
	h.Relay = r
}

// Now is the clock.
func (h *House) Now() time.Time { return time.Now().UTC().Add(time.Duration(h.Ahead.Load())) }

// Pass has time pass.
func (h *House) Pass(d time.Duration) { h.Ahead.Add(int64(d)) }

type judge House

func (*judge) Look(*store.Tx, time.Time, []*relay.Sending, []*relay.Receiving) error { return nil }
func (*judge) Guard(*store.Tx, *relay.Sending) error                                 { return nil }
func (*judge) Receives(*store.Tx, *relay.Receiving) error                            { return nil }
func (*judge) Failed([]string)                                                       {}

func (j *judge) Admit(_ *store.Tx, s *relay.Sending, _ bool) error {
	if s.Message.Sender == j.Turned {
		return mmp.ErrAuthRequired
	}
	s.Message.Tracked = s.Message.Tracked || s.Message.Key != ""
	return nil
}

func (j *judge) Refuses(*store.Tx, *relay.Sending) (bool, error) { return j.Closed, nil }

// note writes one row of the audit for each entry, with the act.
func note(tx *store.Tx, at time.Time, notes []relay.Note) error {
	for _, n := range notes {
		_, err := tx.Exec(`INSERT INTO place_audit (at, event, action, agent, other, ref, kind, size, hash, detail) VALUES (?, 'relay', ?, ?, ?, ?, '', ?, '', ?)`,
			store.Micros(at), n.Action, n.Message.Sender, n.Message.Recipient, n.Message.ID, n.Message.Size, n.Reason)
		if err != nil {
			return err
		}
	}
	return nil
}

// Noted counts the audit's entries about a sender, by action.
func (h *House) Noted(t testing.TB, sender string) map[string]int {
	t.Helper()
	out := map[string]int{}
	h.read(t, func(tx *store.Tx) error {
		for _, action := range []string{relay.Enqueue, relay.Dequeue, relay.Expiry, relay.Drop, relay.Refusal, relay.Forwarder} {
			var n int
			if err := tx.QueryRow(`SELECT count(*) FROM place_audit WHERE agent = ? AND action = ?`, sender, action).Scan(&n); err != nil {
				return err
			}
			if n > 0 {
				out[action] = n
			}
		}
		return nil
	})
	return out
}

// Letter is a message from one to another.
func (h *House) Letter(from, to string) *relay.Sending {
	blob := fmt.Sprint("b", h.next)
	h.next++
	now := h.Now()
	return &relay.Sending{Message: &relay.Message{
		Sender: from, Recipient: to, Kind: "test", Hash: mmp.HashOf(blob).Bare(), Size: int64(len(blob)), Blob: []byte(blob), Created: now, Expires: now.Add(TTL),
	}}
}

// Mail sends a letter that must be taken.
func (h *House) Mail(t testing.TB, from, to string) *relay.Message {
	t.Helper()
	s := h.Letter(from, to)
	if err := h.Send(t.Context(), s); err != nil {
		t.Fatalf("a letter from %s to %s is not taken: %v", from, to, err)
	}
	return s.Message
}

// Fetch receives; a lease of 0 removes.
func (h *House) Fetch(t testing.TB, queue string, limit int, lease time.Duration) *relay.Receiving {
	t.Helper()
	q := &relay.Receiving{Queue: queue, Limit: limit, Lease: lease}
	if err := h.Receive(t.Context(), q); err != nil {
		t.Fatalf("receiving from %s: %v", queue, err)
	}
	return q
}

// Settled acknowledges or gives back, and returns what was said to it.
func (h *House) Settled(t testing.TB, queue string, done, back []string) *relay.Settling {
	t.Helper()
	s := &relay.Settling{Queue: queue, Done: done, Back: back, Guard: func(*store.Tx) error { return nil }}
	if err := h.Settle(t.Context(), s); err != nil {
		t.Fatalf("settling: %v", err)
	}
	return s
}

// IDs are those of messages.
func IDs(all []*relay.Message) []string {
	out := []string{}
	for _, m := range all {
		out = append(out, m.ID)
	}
	return out
}

func (h *House) read(t testing.TB, fn func(*store.Tx) error) {
	t.Helper()
	if err := h.DB.Read(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

// state is what a queue's status says.
func (h *House) state(t testing.TB, queue string) (s relay.Status) {
	t.Helper()
	h.read(t, func(tx *store.Tx) (err error) {
		s, err = h.Status(tx, queue)
		return err
	})
	return s
}

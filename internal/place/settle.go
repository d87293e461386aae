package place

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"

	"parley/internal/store"
)

// settling asks for rows instead of parcels: of one queue, of what one sender may
// ask for, of what expired, of what has been here long enough, or of everything.
type settling struct {
	queue, sender     string
	expired, old, all bool
	// more is set when not everything was done.
	more bool
}

// settled makes the database tell what the front knows. The cost is that of the
// rows, once a message.
func (p *Place) settled(ctx context.Context, s settling) error {
	f := &p.front
	if s.sender != "" && f.owesFates() {
		if err := p.Bundle(ctx); err != nil {
			return err
		}
	}
	switch {
	case !f.on:
		return nil
	case f.unsure():
	case (s.queue != "" || s.sender != "") && !f.has(s.queue, s.sender),
		s.expired && !f.hasExpired(p.now()),
		s.old && !f.untidy(p.now()),
		s.all && f.empty():
		return nil
	}
	for range s.rounds() {
		if err := p.group.add(&op{ctx: ctx, settle: &s}); err != nil || !s.more {
			return err
		}
	}
	return nil
}

// rounds is how many transactions it may take: what has just waited for long can
// wait a little longer.
func (s *settling) rounds() int {
	if s.old {
		return 8
	}
	return math.MaxInt
}

// tidy bundles, gives rows to what has waited for long, and forgets parcels that
// nobody needs.
func (p *Place) tidy(ctx context.Context) error {
	if err := p.Bundle(ctx); err != nil {
		return err
	}
	return p.settled(ctx, settling{old: true})
}

func (b *batch) settleSome(o *op) error {
	s, f := o.settle, &b.p.front
	if s == nil || !f.on {
		return nil
	}
	s.more = false
	switch {
	case s.queue != "":
		return b.move(f.queues[s.queue])
	case s.sender != "":
		return b.move(f.ofSender(s.sender))
	}
	var found []*fresh
	switch {
	case s.expired:
		found = f.expired(b.now, settleBatch)
	case s.old:
		found = f.oldest(store.Micros(b.now.Add(-frontLife)), settleBatch)
	default:
		found = f.oldest(math.MaxInt64, settleBatch)
	}
	s.more = len(found) == settleBatch
	if err := b.move(found); err != nil {
		return err
	}
	return b.forget()
}

// makeRoom gives rows to the oldest messages when there are too many here: twice
// as many as this transaction brought.
func (b *batch) makeRoom() error {
	if f := &b.p.front; f.on && b.held != nil && f.full() {
		return b.move(f.oldest(math.MaxInt64, 2*b.brought))
	}
	return nil
}

// move gives messages of the front rows of their own.
func (b *batch) move(found []*fresh) error {
	if len(found) == 0 {
		return nil
	}
	if b.quick {
		return errNotQuick
	}
	found = append([]*fresh(nil), found...) // moving changes what it was taken from
	messages, err := b.open(found)
	if err != nil {
		return err
	}
	for i, m := range messages {
		b.record(func(to []byte) []byte { return appendMoved(to, m) })
		b.rows = appendRow(b.rows, b.dialect(), m)
		b.p.front.move(found[i])
		delete(b.drained, m.recipient)
	}
	return b.writeMessages()
}

// open reads messages out of their parcels.
func (b *batch) open(found []*fresh) ([]*message, error) {
	out := make([]*message, 0, len(found))
	for _, one := range found {
		body, err := b.body(one.in)
		if err != nil {
			return nil, err
		}
		m, err := messageAt(body, one.off)
		if err != nil {
			return nil, fmt.Errorf("parcel %d: %w", one.in.num, err)
		}
		out = append(out, m)
	}
	return out, nil
}

// body is a parcel, from memory or from the database.
func (b *batch) body(h *held) ([]byte, error) {
	if h == b.held {
		return b.parcel, nil
	}
	b.p.front.mu.Lock()
	body, row := h.body, h.row
	b.p.front.mu.Unlock()
	if body != nil {
		return body, nil
	}
	if b.tx == nil {
		return nil, errNotQuick // it was in memory a moment ago
	}
	if b.bundleNum != row {
		err := b.tx.QueryRow(`SELECT body FROM place_parcels WHERE num = ?`, row).Scan(&b.bundle)
		switch {
		case b.quick && errors.Is(err, sql.ErrNoRows):
			return nil, errNotQuick // what is read here is older than the bundle
		case err != nil:
			return nil, fmt.Errorf("parcel %d in %d: %w", h.num, row, err)
		}
		b.bundleNum = row
	}
	if len(b.bundle) < h.base+h.size {
		return nil, errParcel
	}
	return b.bundle[h.base : h.base+h.size], nil
}

// forget deletes the parcels at the beginning of which nothing waits here, and
// which the audit has: later ones may speak of messages in them.
func (b *batch) forget() error {
	f, upTo, n := &b.p.front, int64(0), 0
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, h := range f.parcels {
		if h.open > 0 || h.row == 0 || h.num > f.told {
			break
		}
		upTo, n = h.num, n+1
		f.disk -= int64(h.size)
	}
	if n == 0 {
		return nil
	}
	f.parcels = append([]*held(nil), f.parcels[n:]...)
	_, err := b.tx.Exec(`DELETE FROM place_parcels WHERE num <= ?`, upTo)
	return err
}

// record adds to the parcel of this transaction.
func (b *batch) record(add func(to []byte) []byte) {
	if b.held == nil {
		b.held = b.p.front.begin(b.now)
		b.parcel = append(make([]byte, 0, 64+b.expects), parcelVersion)
	}
	b.parcel = add(b.parcel)
}

// writeParcel is the one row that a transaction of the relay writes.
func (b *batch) writeParcel() error {
	if b.held == nil {
		return nil
	}
	_, err := b.tx.Exec(`INSERT INTO place_parcels (num, at, body) VALUES (?, ?, ?)`, b.held.num, b.held.at, b.parcel)
	return err
}

// admit puts a new message into the front.
func (b *batch) admit(m *message) {
	off := 0
	b.record(func(to []byte) []byte {
		off = len(to)
		return appendMessage(to, m)
	})
	b.p.front.add(b.held, freshOf(m, off))
	b.brought++
}

// freshOf is how the front knows a message whose record begins at off.
func freshOf(m *message, off int) *fresh {
	out := &fresh{num: m.num, expires: store.Micros(m.expires), recipient: m.recipient, off: uint32(off), size: uint32(m.size)} //nolint:gosec // parcels are small
	if m.tracked {
		out.named = &[2]string{m.sender, m.idem}
	}
	return out
}

// handFresh ends messages of the front that are handed out. Only what somebody
// may still ask for leaves a trace: a row, later if this turn has no transaction.
func (b *batch) handFresh(found []*fresh) ([]*message, error) {
	took, err := b.open(found)
	if err != nil {
		return nil, err
	}
	for i, m := range took {
		later := b.quick && m.tracked
		b.record(func(to []byte) []byte {
			if later {
				return appendFate(to, m)
			}
			return appendGone(to, m)
		})
		b.p.front.leave(found[i])
		switch {
		case later:
			b.held.fates++
		case m.tracked:
			if err := m.received(b.tx, b.now); err != nil {
				return nil, err
			}
		}
	}
	return took, nil
}

package place

import (
	"context"
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
	switch {
	case !f.on:
		return nil
	case f.unsure():
	case (s.queue != "" || s.sender != "") && !f.has(s.queue, s.sender),
		s.expired && !f.hasExpired(p.now()),
		(s.old || s.all) && f.idle():
		return nil
	}
	for {
		if err := p.group.add(&op{ctx: ctx, settle: &s}); err != nil || !s.more {
			return err
		}
	}
}

// tidy gives rows to what has waited for long, tells the audit, and forgets
// parcels that nobody needs.
func (p *Place) tidy(ctx context.Context) error { return p.settled(ctx, settling{old: true}) }

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
	var found []*message
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
	audited, more, err := tellAudit(b.tx, maxTold)
	s.more = s.more || more
	if err != nil {
		return err
	}
	f.telling = audited
	return b.forget(audited)
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
func (b *batch) move(found []*message) error {
	found = append([]*message(nil), found...) // moving changes what it was taken from
	for _, m := range found {
		b.record(func(to []byte) []byte { return appendMoved(to, m) })
		b.rows = appendRow(b.rows, b.tx.Dialect(), m)
		b.p.front.move(m)
	}
	return b.writeMessages()
}

// forget deletes the parcels at the beginning of which nothing waits here, and
// which the audit has: later ones may speak of messages in them.
func (b *batch) forget(audited int64) error {
	f, upTo, n := &b.p.front, int64(0), 0
	for _, h := range f.parcels {
		if h.open > 0 || h.num > audited || h == b.held {
			break
		}
		upTo, n = h.num, n+1
	}
	if n == 0 {
		return nil
	}
	f.mu.Lock()
	f.parcels = append([]*held(nil), f.parcels[n:]...)
	f.mu.Unlock()
	_, err := b.tx.Exec(`DELETE FROM place_parcels WHERE num <= ?`, upTo)
	return err
}

// record adds to the parcel of this transaction.
func (b *batch) record(add func(to []byte) []byte) {
	if b.held == nil {
		b.held = b.p.front.begin(b.now)
		b.parcel = append(make([]byte, 0, 1024+b.expects), parcelVersion)
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
	b.record(func(to []byte) []byte { return appendMessage(to, m) })
	m.blob = append([]byte(nil), m.blob...) // the request's memory is not ours to keep
	b.p.front.add(b.held, m)
	b.brought++
}

// handFresh ends messages of the front that are handed out. Only what somebody
// may still ask for leaves a trace.
func (b *batch) handFresh(took []*message) error {
	for _, m := range took {
		b.record(func(to []byte) []byte { return appendGone(to, m) })
		b.p.front.leave(m)
		if !m.tracked {
			continue
		}
		if _, err := b.tx.Exec(`INSERT`+intoMessage+`, num) VALUES (?, ?, ?, '', ?, ?, ?, ?, 1, ?, '', ?, ?, ?, ?, 0, 0, 0, ?, ?)`,
			m.id, m.sender, m.recipient, m.kind, m.hash, m.size, store.Bool(m.proven), stateReceived, m.idem,
			store.Micros(m.created), store.Micros(m.expires), store.Micros(b.now), []byte{}, m.num); err != nil {
			return err
		}
	}
	return nil
}

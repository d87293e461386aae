package place

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strconv"

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

// loadFront reads the parcels.
func (p *Place) loadFront(tx *store.Tx) error {
	f := &p.front
	f.mu.Lock()
	f.reset()
	f.mu.Unlock()
	audited, err := auditedTo(tx)
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.last, f.told = max(f.last, audited), audited
	f.mu.Unlock()
	known := map[int64]*message{}
	return tx.Each(func(r *sql.Rows) error {
		h := &held{}
		var body []byte
		if err := r.Scan(&h.num, &h.at, &body); err != nil {
			return err
		}
		f.mu.Lock()
		f.parcels = append(f.parcels, h)
		f.last = max(f.last, h.num)
		f.mu.Unlock()
		err := eachRecord(body, true, func(rec record) error {
			if rec.m == nil {
				return nil
			}
			p.lastNum = max(p.lastNum, rec.m.num)
			if rec.kind == recMessage {
				known[rec.m.num] = rec.m
				f.add(h, rec.m)
			} else if m := known[rec.m.num]; m != nil {
				f.leave(m)
				delete(known, rec.m.num)
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("parcel %d: %w", h.num, err)
		}
		return nil
	}, `SELECT num, at, body FROM place_parcels ORDER BY num`)
}

// openFront reads what is there at the start. Where other hubs write too, there is
// no front: what a backup brought along gets rows.
func (p *Place) openFront(ctx context.Context) error {
	p.front.on = !p.d.Clustered && p.d.DB.Dialect() == store.SQLite
	if p.front.on {
		return p.read(ctx, func(tx *store.Tx) error {
			if err := p.loadFront(tx); err != nil {
				return err
			}
			return p.loadQueues(tx)
		})
	}
	some := false
	err := p.read(ctx, func(tx *store.Tx) error {
		return tx.QueryRow(`SELECT count(*) > 0 FROM place_parcels`).Scan(&some)
	})
	if err != nil || !some {
		return err
	}
	err = p.write(ctx, p.unpackAll)
	p.front.reset()
	p.front.last, p.front.told = 0, 0
	return err
}

// unpackAll gives everything rows.
func (p *Place) unpackAll(tx *store.Tx) error {
	if tx.Dialect() == store.Postgres {
		if err := lockAll.Exec(tx, []any{lockOf("place parcels")}); err != nil {
			return err
		}
	}
	if err := p.loadFront(tx); err != nil {
		return err
	}
	if _, _, err := tellAudit(tx, math.MaxInt); err != nil {
		return err
	}
	var rows []any
	for _, m := range p.front.oldest(math.MaxInt64, math.MaxInt) {
		rows = appendRow(rows, tx.Dialect(), m)
	}
	insert := newMessages[tx.Dialect()]
	if err := insert.Exec(tx, rows); err != nil {
		return err
	}
	_, err := tx.Exec(`DELETE FROM place_parcels`)
	return err
}

// loadQueues finds the queues that have rows, one look each.
func (p *Place) loadQueues(tx *store.Tx) error {
	f := &p.front
	return tx.Each(func(r *sql.Rows) error {
		var name sql.NullString
		err := r.Scan(&name)
		if name.Valid && !f.allRows {
			f.mu.Lock()
			f.hasRows(name.String)
			f.mu.Unlock()
		}
		return err
	}, `WITH RECURSIVE q(name) AS (SELECT min(recipient) FROM place_messages WHERE state = 0
			UNION ALL SELECT (SELECT min(recipient) FROM place_messages WHERE state = 0 AND recipient > q.name) FROM q WHERE q.name IS NOT NULL)
		SELECT name FROM q LIMIT ?`, maxCounted+2)
}

// maxTold is how many entries the audit is told in one transaction.
const maxTold = 1000

func auditedTo(tx *store.Tx) (int64, error) {
	text, err := getMeta(tx, "parcels")
	if err != nil || text == "" {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

// tellAudit writes the entries of parcels that it does not have yet, in order.
func tellAudit(tx *store.Tx, most int) (audited int64, more bool, err error) {
	if audited, err = auditedTo(tx); err != nil {
		return audited, false, err
	}
	before, errMore := audited, errors.New("more")
	var told []auditRow
	err = tx.Each(func(r *sql.Rows) error {
		if len(told) >= most {
			return errMore
		}
		var num, at int64
		var body []byte
		if err := r.Scan(&num, &at, &body); err != nil {
			return err
		}
		audited = num
		return eachRecord(body, false, func(rec record) error {
			if e, ok := rec.entry(at); ok {
				told = append(told, e)
			}
			return nil
		})
	}, `SELECT num, at, body FROM place_parcels WHERE num > ? ORDER BY num`, audited)
	if more = errors.Is(err, errMore); err != nil && !more || audited == before {
		return audited, more, err
	}
	if err := writeEntries(tx, told); err != nil {
		return before, false, err
	}
	return audited, more, setMeta(tx, "parcels", strconv.FormatInt(audited, 10))
}

// writeEntries writes entries, those of one moment and event as a pack.
func writeEntries(tx *store.Tx, all []auditRow) error {
	var single []any
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].at == all[0].at && all[n].event == all[0].event {
			n++
		}
		if e := &all[0]; n == 1 || tx.Dialect() != store.SQLite {
			for _, e := range all[:n] {
				single = append(single, e.at, e.event, e.action, e.agent, e.other, e.ref, e.kind, e.size, e.hash, e.detailRaw)
			}
		} else {
			if err := writeNotes(tx, single); err != nil {
				return err
			}
			single = single[:0]
			var lines []byte
			for _, e := range all[:n] {
				lines = packEntry(lines, e.action, e.agent, e.other, e.ref, e.kind, e.size, e.hash, e.detailRaw)
			}
			if err := writePack(tx, e.at, e.event, n, lines); err != nil {
				return err
			}
		}
		all = all[n:]
	}
	return writeNotes(tx, single)
}

// catchUp tells the audit everything that came before what is going to be written
// to it: its numbers follow the clock.
func (p *Place) catchUp(tx *store.Tx) error {
	if !p.front.behind() {
		return nil
	}
	_, _, err := tellAudit(tx, math.MaxInt)
	return err
}

// audited is for those who are going to read the audit.
func (p *Place) audited(ctx context.Context) error {
	if !p.front.behind() {
		return nil
	}
	var told int64
	err := p.writeSoft(ctx, func(tx *store.Tx) (err error) {
		told, _, err = tellAudit(tx, math.MaxInt)
		return err
	})
	if err == nil {
		p.front.tell(told)
	}
	return err
}

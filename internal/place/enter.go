package place

import (
	"parley/internal/store"
	"parley/protocol/mmp"
	"parley/protocol/mmp/board"
)

// entering is one registration without a key.
type entering struct {
	who    Visitor
	req    *board.Registration
	claim  claim
	answer board.RegisterAnswer
}

// enter decides about one registration of the batch.
func (b *batch) enter(o *op) error {
	e := o.enter
	if e == nil {
		return nil
	}
	p, id := b.p, e.req.ID
	e.answer = board.RegisterAnswer{AgentID: id, Status: board.StatusRegistered, PlaceID: p.id, RegisteredAt: mmp.At(b.now)}
	proven, err := b.key(id)
	if err != nil {
		return err
	}
	var old *keyRow
	if proven > 0 {
		old = &keyRow{agent: id, proven: b.now}
	}
	row := b.agents[id]
	lives := row != nil && row.expires().After(b.now)
	v, err := p.decide(e.who, e.claim, old, lives, id)
	if err != nil {
		return err
	}
	if err := p.room(e.who, row); err != nil {
		return err
	}
	e.answer.IdentityVerified = v.verified
	if lives {
		e.answer.RegisteredAt, e.answer.Updated = mmp.At(row.registered), true
	}
	ttl := p.c.RegistryTTL
	if e.who.holds(id) {
		ttl = p.c.ProvenTTL
	}
	e.answer.ExpiresAt = mmp.At(b.now.Add(ttl))
	b.put(e, v, &agentRow{id: id, ttl: ttl, registered: e.answer.RegisteredAt.Time, lastSeen: b.now})
	return nil
}

// put keeps a registration for the end of the transaction. One statement cannot
// write an id twice, so of two registrations of one id the later one is written.
func (b *batch) put(e *entering, v verdict, row *agentRow) {
	if b.entries == nil {
		b.entries = map[string]int{}
	}
	values := agentValues(nil, e.req, v, row.ttl, b.now, e.answer)
	if i, twice := b.entries[row.id]; twice {
		copy(b.fresh[i:], values)
	} else {
		b.entries[row.id] = len(b.fresh)
		b.fresh = append(b.fresh, values...)
	}
	b.agents[row.id] = row
	b.entered = append(b.entered, e.answer)
}

func (b *batch) writeAgents() error {
	if err := putAgents.Exec(b.tx, b.fresh); err != nil {
		return err
	}
	if err := b.writeEntered(); err != nil {
		return err
	}
	b.fresh, b.entered = b.fresh[:0], b.entered[:0]
	clear(b.entries)
	return nil
}

// writeEntered writes what the audit says of registrations, as a pack if there are
// several.
func (b *batch) writeEntered() error {
	if len(b.entered) == 0 {
		return nil
	}
	if err := b.p.catchUp(b.tx); err != nil {
		return err
	}
	if len(b.entered) < 2 || b.tx.Dialect() != store.SQLite {
		var args []any
		for _, e := range b.entered {
			args = enterNote(args, b.now, e)
		}
		return newEntries.Exec(b.tx, args)
	}
	var lines []byte
	for _, e := range b.entered {
		lines = packEntry(lines, enterAction(e), e.AgentID, "", "", "", 0, "", "")
	}
	return writePack(b.tx, store.Micros(b.now), board.AuditRegistration, len(b.entered), lines)
}

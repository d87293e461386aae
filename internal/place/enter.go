package place

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"parley.internal/internal/place/relay"
	"parley.internal/internal/store"
	"parley.internal/internal/turns"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/board"
)

// stuck is how long a transaction may take before it is given up.
const stuck = 30 * time.Second

// entering is one registration without a key.
type entering struct {
	who    Visitor
	req    *board.Registration
	claim  claim
	answer board.RegisterAnswer
}

// arrival is one transaction of registrations without keys.
type arrival struct {
	*lookup
	now time.Time
	// fresh are registrations still to be written, at is where each begins, and entered
	// what the audit says of them.
	fresh   []any
	at      map[string]int
	entered []board.RegisterAnswer
}

// enterAll lets many in at once. Who was let in before a loss of power registers again.
func (p *Place) enterAll(batch []*turns.Call[*entering]) (err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(batch[0].Ctx), stuck)
	defer cancel()
	defer p.caught(&err)
	err = p.writeSoft(ctx, func(tx *store.Tx) error {
		b := &arrival{lookup: p.newLookup(tx), now: p.now(), at: map[string]int{}}
		return b.run(batch)
	})
	if err != nil {
		p.keys.forgetAll()
	}
	return err
}

func (b *arrival) run(batch []*turns.Call[*entering]) error {
	var ids names
	var locks []string
	for _, c := range batch {
		c.Err = nil
		ids.add(c.What.req.ID)
		locks = append(locks, "key "+c.What.req.ID)
	}
	if err := relay.Lock(b.tx, locks); err != nil {
		return err
	}
	if err := b.lookKeys(ids.args); err != nil {
		return err
	}
	if err := b.lookAgents(ids.args); err != nil {
		return err
	}
	for _, c := range batch {
		err := b.enter(c.What)
		if err != nil && !refusal(err) {
			return err
		}
		c.Err = err
	}
	if err := putAgents.Exec(b.tx, b.fresh); err != nil {
		return err
	}
	return b.writeEntered()
}

// enter decides about one registration.
func (b *arrival) enter(e *entering) error {
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
func (b *arrival) put(e *entering, v verdict, row *agentRow) {
	values := agentValues(nil, e.req, v, row.ttl, b.now, e.answer)
	if i, twice := b.at[row.id]; twice {
		copy(b.fresh[i:], values)
	} else {
		b.at[row.id] = len(b.fresh)
		b.fresh = append(b.fresh, values...)
	}
	b.agents[row.id] = row
	b.entered = append(b.entered, e.answer)
}

// writeEntered writes what the audit says of registrations, as a pack if there are
// several.
func (b *arrival) writeEntered() error {
	if len(b.entered) == 0 {
		return nil
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

// refusal tells an answer of the protocol, which concerns one request, from trouble
// that undoes the whole transaction.
func refusal(err error) bool {
	_, is := errors.AsType[mmp.Error](err)
	return is
}

// caught makes an error of a panic: one bad request must not take the hub with it.
func (p *Place) caught(err *error) {
	if cause := recover(); cause != nil {
		p.d.Log.Error("place: panic in a transaction", "panic", cause, "stack", string(debug.Stack()))
		*err = mmp.ErrInternal
	}
}

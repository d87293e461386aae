package place

import (
	"database/sql"
	"hash/fnv"
	"slices"
	"time"

	"parley/internal/store"
	"parley/protocol/mmp"
	"parley/protocol/mmp/board"
)

// batch is one transaction of a group. It is made anew when the transaction is run
// again.
type batch struct {
	p   *Place
	tx  *store.Tx
	now time.Time
	// keys tells when an id proved its key, 0 if never; ids without a key are noKey.
	keys map[string]int64
	// agents are the registrations that were asked for; nil for those that are none.
	agents map[string]*agentRow
	// waiting counts queues; loose are those where it is only a bound.
	waiting map[string]int64
	loose   map[string]bool
	// rows and notes are still to be written; keyed are the idempotency keys in rows.
	rows  []any
	notes []relayEntry
	keyed map[[2]string]struct{}
	// gone were handed out and are still to be removed; handed are their queues.
	gone   []*message
	handed map[string]struct{}
	// drained are queues that were found without rows.
	drained map[string]struct{}
	// fresh are registrations still to be written, entries where each begins, and
	// entered what the audit says of them.
	fresh   []any
	entered []board.RegisterAnswer
	entries map[string]int
	// parcel is what this transaction did, where there is a front, and held its
	// place there; brought are the messages it added, and expects their bytes.
	parcel  []byte
	held    *held
	brought int
	expects int
	// bundle is the row that was read last, of the parcels that are not in memory.
	bundle    []byte
	bundleNum int64
	// quick says that nothing can be written to the database; without tx it cannot
	// be asked either.
	quick bool
}

const noKey = int64(-1)

// runBatch does all requests. What is refused is the request's own error.
func (p *Place) runBatch(tx *store.Tx, ops []*op) error {
	b := p.newBatch(tx, ops)
	p.front.wrote, p.front.body, p.front.drained = nil, nil, nil
	if p.front.on {
		if p.front.dirty {
			if err := p.loadFront(tx); err != nil {
				return err
			}
		}
		p.front.dirty = true
	}
	if err := b.lock(ops); err != nil {
		return err
	}
	if err := b.look(ops); err != nil {
		return err
	}
	for _, do := range []func(*op) error{b.send, b.enter, b.settleSome} {
		for _, o := range ops {
			if err := b.settle(o, do(o)); err != nil {
				return err
			}
		}
	}
	if err := b.write(); err != nil {
		return err
	}
	for _, o := range ops {
		if err := b.settle(o, b.take(o)); err != nil {
			return err
		}
	}
	if err := b.remove(); err != nil {
		return err
	}
	if err := b.makeRoom(); err != nil {
		return err
	}
	if err := b.writeParcel(); err != nil {
		return err
	}
	p.front.wrote, p.front.body, p.front.drained = b.held, b.parcel, b.drained
	return nil
}

// newBatch begins a turn of the group; a transaction may run again.
func (p *Place) newBatch(tx *store.Tx, ops []*op) *batch {
	b := &batch{p: p, tx: tx, now: p.now(), keys: map[string]int64{}, agents: map[string]*agentRow{}, waiting: map[string]int64{}}
	p.bounds.refresh()
	for _, o := range ops {
		o.err = nil
		b.expects += 256 + o.size()
	}
	return b
}

// dialect is that of the place; where there is no transaction there is a front, and
// so it is SQLite.
func (b *batch) dialect() store.Dialect {
	if b.tx == nil {
		return store.SQLite
	}
	return b.tx.Dialect()
}

// settle keeps a refusal for the request and passes trouble on.
func (b *batch) settle(o *op, err error) error {
	if err == nil || !refusal(err) {
		return err
	}
	o.err = err
	return nil
}

var lockAll = store.ManyRows(`SELECT count(pg_advisory_xact_lock(h)) FROM (VALUES `, `(?::bigint)`, `) t(h)`)

// lock keeps others that name the same queues and ids waiting until the
// transaction ends: limits are exact, and numbers come in the order of commits.
// Everybody locks in the same order. SQLite has one writer and needs nothing.
func (b *batch) lock(ops []*op) error {
	if b.tx.Dialect() != store.Postgres {
		return nil
	}
	var names []int64
	for _, o := range ops {
		switch {
		case o.send != nil:
			names = append(names, lockOf("queue "+o.send.m.recipient))
		case o.enter != nil:
			names = append(names, lockOf("key "+o.enter.req.ID))
		}
	}
	slices.Sort(names)
	args := make([]any, 0, len(names))
	for _, n := range slices.Compact(names) {
		args = append(args, n)
	}
	return lockAll.Exec(b.tx, args)
}

// lockOf is the number under which a thing is locked.
func lockOf(thing string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(thing))
	return int64(h.Sum64()) //nolint:gosec // any number will do
}

// names collects distinct names in order.
type names struct {
	seen map[string]struct{}
	args []any
}

func (n *names) add(name string) {
	if _, ok := n.seen[name]; ok {
		return
	}
	if n.seen == nil {
		n.seen = map[string]struct{}{}
	}
	n.seen[name] = struct{}{}
	n.args = append(n.args, name)
}

// look asks for what the requests are decided by, a statement for each table.
func (b *batch) look(ops []*op) error {
	var keys, agents, queues names
	for _, o := range ops {
		switch {
		case o.send != nil:
			m := o.send.m
			if !o.send.who.holds(m.sender) {
				keys.add(m.sender)
			}
			if _, peer := mmp.SplitAddress(m.recipient); b.bound(m.recipient) && peer == "" {
				continue
			}
			queues.add(m.recipient)
			keys.add(m.recipient)
			agents.add(m.recipient)
		case o.take != nil:
			if !o.take.who.holds(o.take.q.AgentID) {
				keys.add(o.take.q.AgentID)
			}
		case o.enter != nil:
			keys.add(o.enter.req.ID)
			agents.add(o.enter.req.ID)
		}
	}
	if err := b.lookKeys(keys.args); err != nil {
		return err
	}
	if err := b.lookAgents(agents.args); err != nil {
		return err
	}
	return b.lookQueues(queues.args)
}

var (
	askKeys   = store.ManyRows(`SELECT agent, proven_at FROM place_keys WHERE agent IN (`, `?`, `)`)
	askAgents = store.ManyRows(`SELECT id, ttl, registered_at, last_seen FROM place_agents WHERE id IN (`, `?`, `)`)
	askQueues = store.ManyRows(`SELECT recipient, count(*) FROM place_messages WHERE state = 0 AND expires_at > ? AND recipient IN (`, `?`, `) GROUP BY recipient`)
)

func (b *batch) lookKeys(ids []any) error {
	unknown := ids[:0:0]
	for _, id := range ids {
		name := id.(string)
		if _, looked := b.keys[name]; looked {
			continue
		}
		at, ok := b.p.keys.get(name)
		if b.keys[name] = at; !ok {
			b.keys[name] = noKey
			unknown = append(unknown, id)
		}
	}
	err := askKeys.Run(b.tx, unknown, func(query string, args []any) error {
		return b.tx.Each(func(r *sql.Rows) error {
			var id string
			var at int64
			err := r.Scan(&id, &at)
			b.keys[id] = at
			return err
		}, query, args...)
	})
	if err == nil {
		for _, id := range unknown {
			b.p.keys.set(id.(string), b.keys[id.(string)])
		}
	}
	return err
}

// key tells when an id proved its key, if it has one.
func (b *batch) key(id string) (int64, error) {
	if at, ok := b.keys[id]; ok {
		return at, nil
	}
	if b.quick {
		return noKey, errNotQuick
	}
	err := b.lookKeys([]any{id})
	return b.keys[id], err
}

func (b *batch) lookAgents(ids []any) error {
	for _, id := range ids {
		b.agents[id.(string)] = nil
	}
	return askAgents.Run(b.tx, ids, func(query string, args []any) error {
		return b.tx.Each(func(r *sql.Rows) error {
			var a agentRow
			var ttl, registered, seen int64
			err := r.Scan(&a.id, &ttl, &registered, &seen)
			a.ttl, a.registered, a.lastSeen = time.Duration(ttl)*time.Microsecond, store.Time(registered), store.Time(seen)
			b.p.freshen(&a)
			b.agents[a.id] = &a
			return err
		}, query, args...)
	})
}

func (b *batch) lookQueues(ids []any) error {
	f := &b.p.front
	asked := make([]any, 0, len(ids))
	for _, id := range ids {
		if b.waiting[id.(string)] = 0; f.mayHaveRows(id.(string)) {
			asked = append(asked, id)
		}
	}
	now := store.Micros(b.now)
	err := askQueues.Run(b.tx, asked, func(query string, args []any) error {
		return b.tx.Each(func(r *sql.Rows) error {
			var id string
			var n int64
			err := r.Scan(&id, &n)
			b.waiting[id] = n
			return err
		}, query, append([]any{now}, args...)...)
	})
	if f.on {
		for _, id := range ids {
			b.waiting[id.(string)] += f.waiting(id.(string), b.now)
		}
	}
	return err
}

// bound fills in how many wait at most, if this hub knows it without counting.
func (b *batch) bound(recipient string) bool {
	if _, ok := b.waiting[recipient]; ok {
		return true
	}
	most, ok := b.p.bounds.of(recipient)
	if ok = ok && most < int64(b.p.c.QueueLimit) && b.p.c.Auth != Strict; ok {
		b.waiting[recipient] = most
		if b.loose == nil {
			b.loose = map[string]bool{}
		}
		b.loose[recipient] = true
	}
	return ok
}

// guard decides whether the caller may act as the id.
func (b *batch) guard(who Visitor, id string) error {
	if who.holds(id) {
		return nil
	}
	if who.Agent != "" || who.OfHub() {
		return mmp.ErrNotYourAgent
	}
	at, err := b.key(id)
	if err == nil && (at > 0 || b.p.c.Auth == Strict) {
		err = mmp.ErrAuthRequired
	}
	return err
}

// SQLite need not keep a copy of each page it changes to undo a statement of many
// rows: with OR FAIL a statement is never undone by itself, and the transaction is,
// if one fails.
const (
	messageRow  = `(?, ?, ?, ?, ?, ?, ?, ?, ?, 0, '', ?, ?, ?, ?, 0, 0, ?, ?)`
	intoMessage = ` INTO place_messages (id, sender, recipient, peer, type, hash, size, proven, tracked, state, reason, idem,
		created_at, expires_at, changed_at, leased_until, attempt, next_at, blob`
	noteRow  = `(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	intoNote = ` INTO place_audit (at, event, action, agent, other, ref, kind, size, hash, detail) `
)

var (
	newMessages = map[store.Dialect]store.Rows{
		store.SQLite:   store.ManyRows(`INSERT OR FAIL`+intoMessage+`, num) VALUES `, messageRow[:len(messageRow)-1]+`, ?)`, ``),
		store.Postgres: store.ManyRows(`INSERT`+intoMessage+`) VALUES `, messageRow, ``),
	}
	newNotes = map[store.Dialect]store.Rows{
		store.SQLite:   store.ManyRows(`INSERT OR FAIL`+intoNote+`VALUES `, noteRow, ``),
		store.Postgres: store.ManyRows(`INSERT`+intoNote+`VALUES `, noteRow, ``),
	}
)

// write writes what is still to be written.
func (b *batch) write() error {
	if err := b.writeMessages(); err != nil {
		return err
	}
	if err := b.writeRelay(); err != nil {
		return err
	}
	return b.writeAgents()
}

func (b *batch) writeRelay() error {
	if len(b.notes) == 0 {
		return nil
	}
	err := writeRelay(b.tx, b.now, b.notes)
	b.notes = b.notes[:0]
	return err
}

func (b *batch) writeMessages() error {
	if len(b.rows) == 0 {
		return nil
	}
	rows := newMessages[b.tx.Dialect()]
	if err := rows.Exec(b.tx, b.rows); err != nil {
		return err
	}
	b.rows = b.rows[:0]
	clear(b.keyed)
	return nil
}

// note keeps an entry about a message for the end of the transaction.
func (b *batch) note(action string, m *message, reason string) error {
	if b.p.front.on {
		text, err := relayDetail(m, reason)
		if err != nil {
			return err
		}
		e := auditRow{
			event: board.AuditRelay, action: action, agent: m.sender, other: m.recipient, ref: m.id, kind: m.kind, size: m.size, hash: m.hash, detailRaw: text,
		}
		b.record(func(to []byte) []byte { return appendNote(to, &e) })
		return nil
	}
	b.notes = append(b.notes, relayEntry{action, reason, m})
	return nil
}

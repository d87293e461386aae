package place

import (
	"database/sql"
	"time"

	"parley.internal/internal/store"
	"parley.internal/protocol/mmp"
)

// noKey is when an id without a key has proven it.
const noKey = int64(-1)

// lookup is what one transaction knows of ids, asked for with a statement for each
// table.
type lookup struct {
	p  *Place
	tx *store.Tx
	// keys tells when an id proved its key, 0 if never; ids without a key are noKey.
	keys map[string]int64
	// agents are the registrations that were asked for; nil for those that are none.
	agents map[string]*agentRow
}

func (p *Place) newLookup(tx *store.Tx) *lookup {
	return &lookup{p: p, tx: tx, keys: map[string]int64{}, agents: map[string]*agentRow{}}
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

var (
	askKeys   = store.ManyRows(`SELECT agent, proven_at FROM place_keys WHERE agent IN (`, `?`, `)`)
	askAgents = store.ManyRows(`SELECT id, ttl, registered_at, last_seen FROM place_agents WHERE id IN (`, `?`, `)`)
)

func (l *lookup) lookKeys(ids []any) error {
	unknown := ids[:0:0]
	for _, id := range ids {
		name := id.(string)
		if _, looked := l.keys[name]; looked {
			continue
		}
		at, ok := l.p.keys.get(name)
		if l.keys[name] = at; !ok {
			l.keys[name] = noKey
			unknown = append(unknown, id)
		}
	}
	err := askKeys.Run(l.tx, unknown, func(query string, args []any) error {
		return l.tx.Each(func(r *sql.Rows) error {
			var id string
			var at int64
			err := r.Scan(&id, &at)
			l.keys[id] = at
			return err
		}, query, args...)
	})
	if err == nil {
		for _, id := range unknown {
			l.p.keys.set(id.(string), l.keys[id.(string)])
		}
	}
	return err
}

// key tells when an id proved its key, if it has one.
func (l *lookup) key(id string) (int64, error) {
	if at, ok := l.keys[id]; ok {
		return at, nil
	}
	err := l.lookKeys([]any{id})
	return l.keys[id], err
}

func (l *lookup) lookAgents(ids []any) error {
	for _, id := range ids {
		l.agents[id.(string)] = nil
	}
	return askAgents.Run(l.tx, ids, func(query string, args []any) error {
		return l.tx.Each(func(r *sql.Rows) error {
			var a agentRow
			var ttl, registered, seen int64
			err := r.Scan(&a.id, &ttl, &registered, &seen)
			a.ttl, a.registered, a.lastSeen = time.Duration(ttl)*time.Microsecond, store.Time(registered), store.Time(seen)
			l.p.freshen(&a)
			l.agents[a.id] = &a
			return err
		}, query, args...)
	})
}

// known tells whether an id is registered or has a key.
func (l *lookup) known(id string) (bool, error) {
	at, err := l.key(id)
	if err != nil || at != noKey {
		return true, err
	}
	if _, asked := l.agents[id]; !asked {
		if err := l.lookAgents([]any{id}); err != nil {
			return false, err
		}
	}
	return l.agents[id] != nil, nil
}

// guard decides whether the caller may act as the id.
func (l *lookup) guard(who Visitor, id string) error {
	if who.holds(id) {
		return nil
	}
	if who.Agent != "" || who.Operator() {
		return mmp.ErrNotYourAgent
	}
	at, err := l.key(id)
	if err == nil && (at > 0 || l.p.c.Auth == Strict) {
		err = mmp.ErrAuthRequired
	}
	return err
}

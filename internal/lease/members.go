package lease

import (
	"context"
	"database/sql"
	"sync"
	"time"

	"parley.internal/internal/store"
)

// Member is one hub as the database knows it.
type Member struct {
	// ID is what Leases.ID gave that hub.
	ID      string
	Started time.Time
	// Expires is until when the others count on it; Alive compares it with the
	// database's own clock.
	Expires time.Time
	Alive   bool
	// Holds counts its things by the first word of their names: task, room, ….
	Holds map[string]int64
}

// remembered is how long a hub that died with something in its hands is listed: some
// things are taken over only when somebody wants them, which may be never.
const remembered = time.Hour

// Members lists the hubs that live and those that died of late with something in their
// hands, in the order of their names.
func (l *Leases) Members(ctx context.Context) (members []Member, err error) {
	err = l.db.Read(ctx, func(tx *store.Tx) error {
		members = nil
		now, err := clock(tx)
		if err != nil {
			return err
		}
		at, dead := map[string]int{}, l.deadBefore(now)
		err = tx.Each(func(row *sql.Rows) error {
			var id string
			var started, expires int64
			if err := row.Scan(&id, &started, &expires); err != nil {
				return err
			}
			at[id] = len(members)
			members = append(members, Member{ID: id, Started: store.Time(started), Expires: store.Time(expires), Alive: expires > dead, Holds: map[string]int64{}})
			return nil
		}, `SELECT id, started_at, expires_at FROM hubs WHERE expires_at > ? OR (expires_at > ? AND EXISTS (SELECT 1 FROM leases WHERE owner = hubs.id)) ORDER BY id`, dead, now-remembered.Microseconds())
		if err != nil {
			return err
		}
		return tx.Each(func(row *sql.Rows) error {
			var id, family string
			var n int64
			if err := row.Scan(&id, &family, &n); err != nil {
				return err
			}
			if i, known := at[id]; known {
				members[i].Holds[family] = n
			}
			return nil
		}, `SELECT owner, `+firstWord(tx)+` AS family, count(*) FROM leases WHERE owner <> '' GROUP BY owner, family`)
	})
	return members, err
}

func firstWord(tx *store.Tx) string {
	if tx.Dialect() == store.SQLite {
		return `substr(name, 1, instr(name || '.', '.') - 1)`
	}
	return `split_part(name, '.', 1)`
}

// look is which hubs lived at a time.
type look struct {
	mu   sync.Mutex
	at   time.Time
	hubs []string
}

func (k *look) set(hubs []string, at time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.hubs, k.at = hubs, at
}

// fresh is how old a look may be, so that many who look at once cost one query.
const fresh = 400 * time.Millisecond

func (k *look) get() ([]string, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.hubs, k.hubs != nil && time.Since(k.at) < fresh
}

// Living lists the ids of the hubs that live, as of a moment ago.
func (l *Leases) Living(ctx context.Context) ([]string, error) {
	if hubs, ok := l.living.get(); ok {
		return hubs, nil
	}
	began := time.Now()
	var hubs []string
	err := l.db.Read(ctx, func(tx *store.Tx) error {
		now, err := clock(tx)
		if err != nil {
			return err
		}
		hubs, err = l.readLiving(tx, now)
		return err
	})
	if err == nil {
		l.living.set(hubs, began)
	}
	return hubs, err
}

func (l *Leases) readLiving(tx *store.Tx, now int64) (hubs []string, err error) {
	hubs = []string{}
	err = tx.Each(store.Into(&hubs), `SELECT id FROM hubs WHERE expires_at > ? ORDER BY id`, l.deadBefore(now))
	return hubs, err
}

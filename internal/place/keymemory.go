package place

import (
	"context"
	"database/sql"
	"sync"

	"parley.internal/internal/store"
)

// keyMemory remembers which ids have a key and since when it is proven, for the
// group's transactions. It is only there where nobody else writes to the database.
// Whoever changes a key forgets it in the same transaction: the next one looks, and
// SQLite has no two at a time.
type keyMemory struct {
	alone bool
	mu    sync.Mutex
	of    map[string]int64
	// all says that ids which are neither known nor in doubt have no key.
	all   bool
	doubt map[string]struct{}
}

// mostKeys is how many keys are read at the start: more would be felt.
const mostKeys = 20_000

// loadKeys reads the keys, if there are not too many.
func (p *Place) loadKeys(ctx context.Context) error {
	k := &p.keys
	if k.alone = p.d.DB.Dialect() == store.SQLite; !k.alone {
		return nil
	}
	of := map[string]int64{}
	err := p.read(ctx, func(tx *store.Tx) error {
		return tx.Each(func(r *sql.Rows) error {
			var id string
			var at int64
			err := r.Scan(&id, &at)
			of[id] = at
			return err
		}, `SELECT agent, proven_at FROM place_keys LIMIT ?`, mostKeys+1)
	})
	if k.all = err == nil && len(of) <= mostKeys; k.all {
		k.of = of
	}
	return err
}

func (k *keyMemory) get(id string) (int64, bool) {
	if !k.alone {
		return 0, false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if at, ok := k.of[id]; ok {
		return at, true
	}
	_, unsure := k.doubt[id]
	return noKey, k.all && !unsure
}

func (k *keyMemory) set(id string, at int64) {
	if !k.alone {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if delete(k.doubt, id); k.all && at == noKey {
		return
	}
	if k.of == nil || len(k.of) > maxCounted {
		k.of, k.all, k.doubt = map[string]int64{}, false, nil
	}
	k.of[id] = at
}

// forget is called in the transaction that changes a key.
func (k *keyMemory) forget(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if delete(k.of, id); !k.all {
		return
	}
	if k.doubt == nil {
		k.doubt = map[string]struct{}{}
	}
	if k.doubt[id] = struct{}{}; len(k.doubt) > maxCounted {
		k.of, k.all, k.doubt = nil, false, nil
	}
}

// forgetAll is for when a transaction failed: it may have seen what was undone with
// it.
func (k *keyMemory) forgetAll() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.of, k.all, k.doubt = nil, false, nil
}

package place

import (
	"sync"

	"parley/internal/store"
)

// keyMemory remembers which ids have a key and since when it is proven, for the
// group's transactions. It is only there where nobody else writes to the database.
// Whoever changes a key forgets it in the same transaction: the next one looks, and
// SQLite has no two at a time.
type keyMemory struct {
	alone bool
	mu    sync.Mutex
	of    map[string]int64
}

func (k *keyMemory) get(tx *store.Tx, id string) (int64, bool) {
	if !k.alone || tx.Dialect() != store.SQLite {
		return 0, false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	at, ok := k.of[id]
	return at, ok
}

func (k *keyMemory) set(tx *store.Tx, id string, at int64) {
	if !k.alone || tx.Dialect() != store.SQLite {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of == nil || len(k.of) > maxCounted {
		k.of = map[string]int64{}
	}
	k.of[id] = at
}

func (k *keyMemory) forget(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.of, id)
}

// forgetAll is for when a transaction failed: it may have seen what was undone with
// it.
func (k *keyMemory) forgetAll() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.of = nil
}

package lease

import (
	"maps"
	"slices"

	"parley.internal/internal/store"
)

// free gives one row back if it is still this hub's of that epoch. The row stays: its
// epoch must never be given out twice.
func (l *Leases) free(tx *store.Tx, name string, epoch int64) error {
	_, err := tx.Exec(`UPDATE leases SET owner = '' WHERE name = ? AND owner = ? AND epoch = ?`, name, l.id, epoch)
	return err
}

// doubt has the next renewal free a row that may be this hub's with nothing behind it.
func (l *Leases) doubt(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[name] == nil {
		l.doubtful[name] = true
	}
}

// doubts are the names to free.
func (l *Leases) doubts() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.doubtful))
}

// settled notes that rows were freed.
func (l *Leases) settled(names []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range names {
		delete(l.doubtful, name)
	}
}

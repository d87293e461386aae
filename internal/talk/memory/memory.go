package memory

import (
	"parley.internal/internal/store"
)

// Memory is the store of conversations.
type Memory struct {
	db *store.DB
}

// New makes a memory on a migrated store.
func New(db *store.DB) *Memory { return &Memory{db: db} }

// fenced runs a guard, if there is one.
func fenced(tx *store.Tx, guard Guard) error {
	if guard == nil {
		return nil
	}
	return guard.Check(tx)
}

package logs

import (
	"sync"

	"parley.internal/client/kenny"
	"parley.internal/internal/wake"
)

// RingSize is how many records wait for a tunnel.
const RingSize = 256

// Ring is a bounded queue of records; the oldest give way.
type Ring struct {
	mu      sync.Mutex
	records []kenny.Record
	dropped uint64
	wake    wake.Bell
}

// NewRing makes an empty ring.
func NewRing() *Ring { return &Ring{wake: wake.New()} }

// Add puts a record in.
func (r *Ring) Add(rec kenny.Record) {
	r.mu.Lock()
	if len(r.records) == RingSize {
		r.records = append(r.records[:0], r.records[1:]...)
		r.dropped++
	}
	r.records = append(r.records, rec)
	r.mu.Unlock()
	r.Wake()
}

// Wake tells the forwarder to look again.
func (r *Ring) Wake() {
	r.wake.Ring()
}

// Dropped counts the records that gave way.
func (r *Ring) Dropped() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dropped
}

// Len is how many records wait.
func (r *Ring) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.records)
}

// popOldest gives the oldest record and removes it.
func (r *Ring) popOldest() (kenny.Record, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.records) == 0 {
		return kenny.Record{}, false
	}
	rec := r.records[0]
	r.records = append(r.records[:0], r.records[1:]...)
	return rec, true
}

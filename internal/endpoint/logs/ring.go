package logs

import (
	"sync"

	"parley.internal/client/kenny"
)

// RingSize is how many records wait for a tunnel.
const RingSize = 256

// Ring is a bounded queue of records; the oldest give way.
type Ring struct {
	mu      sync.Mutex
	records []kenny.Record
	dropped uint64
	wake    chan struct{}
}

// NewRing makes an empty ring.
func NewRing() *Ring { return &Ring{wake: make(chan struct{}, 1)} }

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
	select {
	case r.wake <- struct{}{}:
	default:
	}
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

package place

import (
	"context"
	"database/sql"
	"sync"
	"sync/atomic"
	"time"

	"parley/internal/store"
	"parley/protocol/mmp"
)

// figures are counts over everything. Counting costs more the more there is, so a
// count is used again until it is stale and, if it was expensive, for a while
// longer.
type figures struct {
	bytes     atomic.Int64 // waiting in the relay, as far as this hub knows
	strangers atomic.Int64 // queues of unknown ids, an upper bound between sweeps
	dirty     atomic.Bool
	agents    atomic.Int64

	mu    sync.Mutex
	at    time.Time
	cost  time.Duration
	value counts
}

type counts struct {
	agents, postings int64
	relay            mmp.RelayStats
}

func (f *figures) stale()             { f.dirty.Store(true) }
func (f *figures) bytesAbout() int64  { return f.bytes.Load() }
func (f *figures) agentsAbout() int64 { return f.agents.Load() }

// counted gives the figures, at most a second old if something changed.
func (p *Place) counted(ctx context.Context) (counts, error) {
	f := &p.figures
	f.mu.Lock()
	defer f.mu.Unlock()
	age := time.Since(f.at)
	if !f.at.IsZero() && (age < 20*f.cost || !f.dirty.Load() && age < time.Second) {
		return f.value, nil
	}
	f.dirty.Store(false)
	began := time.Now()
	c, err := p.count(ctx)
	if err != nil {
		f.dirty.Store(true)
		return c, err
	}
	f.at, f.value = time.Now(), c
	if f.cost = f.at.Sub(began); f.cost < 5*time.Millisecond {
		f.cost = 0
	}
	f.agents.Store(c.agents)
	return c, nil
}

func (p *Place) count(ctx context.Context) (c counts, err error) {
	err = p.read(ctx, func(tx *store.Tx) error {
		now := p.now()
		us := store.Micros(now)
		if err := tx.QueryRow(`SELECT count(*) FROM place_agents WHERE expires_at > ?`, us).Scan(&c.agents); err != nil {
			return err
		}
		if err := tx.QueryRow(`SELECT count(*) FROM place_postings WHERE expires_at > ?`, us).Scan(&c.postings); err != nil {
			return err
		}
		var oldest sql.NullInt64
		var bytes, biggest sql.NullInt64
		err := tx.QueryRow(`SELECT count(*), count(DISTINCT recipient), min(created_at), sum(size), max(size) FROM place_messages
			WHERE state = 0 AND expires_at > ?`, us).Scan(&c.relay.TotalMessages, &c.relay.ActiveQueues, &oldest, &bytes, &biggest)
		if oldest.Valid {
			age := int64(now.Sub(store.Time(oldest.Int64)) / time.Second)
			c.relay.OldestMessage = &age
		}
		c.relay.TotalSizeBytes, c.relay.MaxSizeBytes = bytes.Int64, biggest.Int64
		if c.relay.TotalMessages > 0 {
			c.relay.AverageSizeBytes = c.relay.TotalSizeBytes / c.relay.TotalMessages
		}
		return err
	})
	return c, err
}

// refreshBytes recounts what the hub otherwise only adds up.
func (p *Place) refreshBytes(ctx context.Context) error {
	var bytes, strangers, agents int64
	err := p.read(ctx, func(tx *store.Tx) error {
		if err := tx.QueryRow(`SELECT COALESCE(sum(size), 0) FROM place_messages WHERE state = 0`).Scan(&bytes); err != nil {
			return err
		}
		if err := tx.QueryRow(`SELECT count(*) FROM place_agents`).Scan(&agents); err != nil {
			return err
		}
		return tx.QueryRow(`SELECT count(DISTINCT recipient) FROM place_messages WHERE state = 0 AND peer = ''
			AND NOT EXISTS (SELECT 1 FROM place_agents WHERE id = recipient) AND NOT EXISTS (SELECT 1 FROM place_keys WHERE agent = recipient)`).Scan(&strangers)
	})
	if err == nil {
		p.figures.bytes.Store(bytes)
		p.figures.strangers.Store(strangers)
		p.figures.agents.Store(agents)
		p.bounds.old.Store(true)
	}
	return err
}

// newest finds the number after which messages are numbered.
func (p *Place) newest(ctx context.Context) error {
	return p.read(ctx, func(tx *store.Tx) error {
		return tx.QueryRow(`SELECT COALESCE(max(num), 0) FROM place_messages`).Scan(&p.lastNum)
	})
}

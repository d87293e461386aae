package place

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"parley.internal/internal/store"
	"parley.internal/protocol/mmp/relay"
)

// figures are counts over everything. Counting costs more the more there is, so a
// count is used again until it is stale and, if it was expensive, for a while
// longer.
type figures struct {
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
	relay            relay.Stats
}

func (f *figures) stale()             { f.dirty.Store(true) }
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
		s, err := p.relay.Sum(tx)
		c.relay = relay.Stats{TotalMessages: s.Messages, ActiveQueues: s.Queues, TotalSizeBytes: s.Bytes, MaxSizeBytes: s.Biggest}
		if s.Messages > 0 {
			c.relay.AverageSizeBytes = s.Bytes / s.Messages
		}
		if !s.Oldest.IsZero() {
			age := int64(now.Sub(s.Oldest) / time.Second)
			c.relay.OldestMessage = &age
		}
		return err
	})
	return c, err
}

// recount counts what the hub otherwise only adds up.
func (p *Place) recount(ctx context.Context) error {
	var strangers, agents int64
	err := p.read(ctx, func(tx *store.Tx) (err error) {
		if err := tx.QueryRow(`SELECT count(*) FROM place_agents`).Scan(&agents); err != nil {
			return err
		}
		strangers, err = p.countStrangers(tx)
		return err
	})
	if err != nil {
		return err
	}
	p.figures.strangers.Store(strangers)
	p.figures.agents.Store(agents)
	p.court.old.Store(true)
	return p.storage(p.relay.Recount(ctx))
}

var unknownQueues = store.ManyRows(`WITH q (recipient) AS (VALUES `, `(?)`, `) SELECT count(*) FROM q
	WHERE NOT EXISTS (SELECT 1 FROM place_agents WHERE id = q.recipient) AND NOT EXISTS (SELECT 1 FROM place_keys WHERE agent = q.recipient)`)

// countStrangers counts the queues of ids that nobody knows.
func (p *Place) countStrangers(tx *store.Tx) (all int64, err error) {
	queues, err := p.relay.Queues(tx)
	if err != nil {
		return 0, err
	}
	args := make([]any, 0, len(queues))
	for _, queue := range queues {
		args = append(args, queue)
	}
	err = unknownQueues.Run(tx, args, func(query string, args []any) error {
		var n int64
		err := tx.QueryRow(query, args...).Scan(&n)
		all += n
		return err
	})
	return all, err
}

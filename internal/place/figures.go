package place

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"parley/internal/store"
	"parley/protocol/mmp/relay"
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
	relay            relay.Stats
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

// count asks again if messages got rows meanwhile: they would count twice, or not at
// all.
func (p *Place) count(ctx context.Context) (c counts, err error) {
	if p.front.unsure() {
		if err := p.settled(ctx, settling{expired: true}); err != nil {
			return c, err
		}
	}
	for range 3 {
		before := p.front.mark()
		if c, err = p.countOnce(ctx); err != nil || p.front.mark() == before {
			break
		}
	}
	return c, err
}

func (p *Place) countOnce(ctx context.Context) (c counts, err error) {
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
		err = errors.Join(err, p.countFront(tx, now, &c, &oldest, &bytes, &biggest))
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

// countFront adds the messages that have no rows.
func (p *Place) countFront(tx *store.Tx, now time.Time, c *counts, oldest, bytes, biggest *sql.NullInt64) error {
	queues := map[string]struct{}{}
	p.front.each(func(m *fresh) {
		if !m.waits(now) {
			return
		}
		queues[m.recipient] = struct{}{}
		c.relay.TotalMessages++
		bytes.Int64 += int64(m.size)
		biggest.Int64 = max(biggest.Int64, int64(m.size))
		if at := m.in.at; !oldest.Valid || at < oldest.Int64 {
			oldest.Int64, oldest.Valid = at, true
		}
	})
	for name := range queues {
		var rows int64
		if p.front.mayHaveRows(name) {
			err := tx.QueryRow(`SELECT count(*) FROM (SELECT 1 FROM place_messages WHERE recipient = ? AND state = 0 AND expires_at > ? LIMIT 1) t`,
				name, store.Micros(now)).Scan(&rows)
			if err != nil {
				return err
			}
		}
		c.relay.ActiveQueues += 1 - rows
	}
	return nil
}

// refreshBytes recounts what the hub otherwise only adds up.
func (p *Place) refreshBytes(ctx context.Context) (err error) {
	var bytes, strangers, agents int64
	for range 3 {
		before := p.front.mark()
		err = p.read(ctx, func(tx *store.Tx) (err error) {
			bytes, strangers, agents, err = p.recount(tx)
			return err
		})
		if err != nil || p.front.mark() == before {
			break
		}
	}
	if err == nil {
		p.figures.bytes.Store(bytes)
		p.figures.strangers.Store(strangers)
		p.figures.agents.Store(agents)
		p.bounds.old.Store(true)
	}
	return err
}

const unknownTo = ` NOT EXISTS (SELECT 1 FROM place_agents WHERE id = q.recipient) AND NOT EXISTS (SELECT 1 FROM place_keys WHERE agent = q.recipient)`

func (p *Place) recount(tx *store.Tx) (bytes, strangers, agents int64, err error) {
	if err := tx.QueryRow(`SELECT COALESCE(sum(size), 0) FROM place_messages WHERE state = 0`).Scan(&bytes); err != nil {
		return 0, 0, 0, err
	}
	if err := tx.QueryRow(`SELECT count(*) FROM place_agents`).Scan(&agents); err != nil {
		return 0, 0, 0, err
	}
	err = tx.QueryRow(`SELECT count(DISTINCT recipient) FROM place_messages q WHERE state = 0 AND peer = '' AND` + unknownTo).Scan(&strangers)
	if err != nil {
		return 0, 0, 0, err
	}
	queues := map[string]struct{}{}
	p.front.each(func(m *fresh) {
		bytes += int64(m.size)
		queues[m.recipient] = struct{}{}
	})
	for name := range queues {
		var one int64
		err := tx.QueryRow(`SELECT count(*) FROM (SELECT CAST(? AS TEXT) AS recipient) q WHERE`+unknownTo+`
			AND NOT EXISTS (SELECT 1 FROM place_messages m WHERE m.recipient = q.recipient AND m.state = 0)`, name).Scan(&one)
		if err != nil {
			return 0, 0, 0, err
		}
		strangers += one
	}
	return bytes, strangers, agents, nil
}

// newest finds the number after which messages are numbered.
func (p *Place) newest(ctx context.Context) error {
	return p.read(ctx, func(tx *store.Tx) error {
		return tx.QueryRow(`SELECT COALESCE(max(num), 0) FROM place_messages`).Scan(&p.lastNum)
	})
}

package place

import (
	"context"
	"maps"
	"sync"
	"time"

	"parley.internal/internal/store"
)

// presence holds signs of life until they are written, within a second. Reads look
// here too, so that expiry is exact.
type presence struct {
	mu     sync.Mutex
	agents map[string]time.Time
	tokens map[string]time.Time // by hash: until when each is valid now
}

func (p *Place) touch(id string) {
	now := p.now()
	p.presence.mu.Lock()
	defer p.presence.mu.Unlock()
	if p.presence.agents == nil {
		p.presence.agents = map[string]time.Time{}
	}
	p.presence.agents[id] = now
}

func (p *Place) extend(hash string, until time.Time) {
	p.presence.mu.Lock()
	defer p.presence.mu.Unlock()
	if p.presence.tokens == nil {
		p.presence.tokens = map[string]time.Time{}
	}
	p.presence.tokens[hash] = until
}

// seen is the latest sign of life that is not written yet.
func (p *Place) seen(id string) (time.Time, bool) {
	p.presence.mu.Lock()
	defer p.presence.mu.Unlock()
	t, ok := p.presence.agents[id]
	return t, ok
}

// flush writes signs of life.
func (p *Place) flush(ctx context.Context) error {
	p.presence.mu.Lock()
	agents, tokens := p.presence.agents, p.presence.tokens
	p.presence.agents, p.presence.tokens = nil, nil
	p.presence.mu.Unlock()
	if len(agents)+len(tokens) == 0 {
		return nil
	}
	err := p.writeSoft(ctx, func(tx *store.Tx) error {
		for id, at := range agents {
			us := store.Micros(at)
			if _, err := tx.Exec(`UPDATE place_agents SET last_seen = ?, expires_at = ? + ttl WHERE id = ? AND last_seen < ?`, us, us, id, us); err != nil {
				return err
			}
		}
		for hash, until := range tokens {
			us := store.Micros(until)
			if _, err := tx.Exec(`UPDATE place_tokens SET expires_at = ? WHERE hash = ? AND expires_at < ?`, us, hash, us); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		p.keep(agents, tokens)
	}
	return err
}

// keep puts back what could not be written, unless something newer is there.
func (p *Place) keep(agents, tokens map[string]time.Time) {
	p.presence.mu.Lock()
	defer p.presence.mu.Unlock()
	maps.Copy(agents, p.presence.agents)
	maps.Copy(tokens, p.presence.tokens)
	p.presence.agents, p.presence.tokens = agents, tokens
}

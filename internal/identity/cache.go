package identity

import (
	"sync"
	"time"
)

// maxCached bounds the credentials kept in memory; one costs about a kilobyte.
const maxCached = 20_000

// staleAfter is how long the cache may be believed without hearing from the
// store whether anything was revoked.
const staleAfter = 5 * time.Second

// cache keeps the credentials in use. Whoever changes one drops it here.
type cache struct {
	mu       sync.Mutex
	bySecret map[string]*credential // by lookup
	byRef    map[ref]map[string]struct{}
	changes  int64
	synced   time.Time
}

func newCache() *cache {
	return &cache{bySecret: map[string]*credential{}, byRef: map[ref]map[string]struct{}{}, synced: time.Now()}
}

// get finds a credential and proves the secret. It returns a copy.
func (c *cache) get(secret string) *credential {
	lookup := lookupOf(secret)
	now := time.Now()
	c.mu.Lock()
	k := c.bySecret[lookup]
	if k == nil || now.Sub(c.synced) > staleAfter {
		c.mu.Unlock()
		return nil
	}
	found := *k
	c.mu.Unlock()
	if !found.sealed.opens(secret) {
		return nil
	}
	return &found
}

// generation changes whenever anything is dropped.
func (c *cache) generation() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changes
}

// put keeps what was read, unless something changed since or it cannot be used
// a second time.
func (c *cache) put(generation int64, k *credential) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes != generation || k.actor.Credential == TokenPairing {
		return
	}
	for lookup := range c.bySecret {
		if len(c.bySecret) < maxCached {
			break
		}
		c.remove(lookup)
	}
	kept := *k
	c.bySecret[k.sealed.lookup] = &kept
	for _, r := range k.actor.refs() {
		if c.byRef[r] == nil {
			c.byRef[r] = map[string]struct{}{}
		}
		c.byRef[r][k.sealed.lookup] = struct{}{}
	}
}

// drop forgets everything that has to do with r.
func (c *cache) drop(r ref) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	for lookup := range c.byRef[r] {
		c.remove(lookup)
	}
}

func (c *cache) remove(lookup string) {
	k := c.bySecret[lookup]
	if k == nil {
		return
	}
	delete(c.bySecret, lookup)
	for _, r := range k.actor.refs() {
		delete(c.byRef[r], lookup)
		if len(c.byRef[r]) == 0 {
			delete(c.byRef, r)
		}
	}
}

// touch moves the end of a credential that lives from use to use.
func (c *cache) touch(lookup string, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.bySecret[lookup]; k != nil {
		k.touch(now)
	}
}

// confirm notes that the store was asked at t.
func (c *cache) confirm(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.synced = t
}

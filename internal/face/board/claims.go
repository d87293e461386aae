package board

import (
	"time"

	"parley/protocol/viber"
)

// claim is a request whose answer is an event that also comes by itself: the end
// of a task that was stopped, the decision of an approval. The event then names
// the request, and comes once.
type claim struct {
	key, id string
	done    chan struct{} // closed when it was answered
}

func (c *conn) claim(key, id string) *claim {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.claims == nil {
		c.claims = map[string]*claim{}
	}
	k := &claim{key: key, id: id, done: make(chan struct{})}
	if c.claims[key] == nil {
		c.claims[key] = k
	}
	return k
}

// unclaim takes it back; false if it was answered, or was never the first.
func (c *conn) unclaim(k *claim) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.claims[k.key] != k {
		return false
	}
	delete(c.claims, k.key)
	return true
}

// claimed is the request that an event answers. The caller holds mu.
func (c *conn) claimed(event viber.TaskEvent) string {
	var key string
	switch e := event.(type) {
	case *viber.TaskStopped:
		key = stopKey(e.TaskID)
	case *viber.ApprovalResolved:
		key = approvalKey(e.ApprovalID)
	default:
		return ""
	}
	k := c.claims[key]
	if k == nil {
		return ""
	}
	delete(c.claims, key)
	close(k.done)
	return k.id
}

// How long an event may take to come by itself before it is sent for the sake of
// the answer: not long where it may not come at all, longer where it must come in
// its place among others.
const (
	claimTime   = 500 * time.Millisecond
	followsTime = 10 * time.Second
)

// awaitClaim waits for the event to come; if it does not come by itself, this is it.
func (c *conn) awaitClaim(k *claim, event viber.TaskEvent, follows bool) {
	wait := claimTime
	if follows {
		wait = followsTime
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-k.done:
		return
	case <-c.ctx.Done():
		return
	case <-timer.C:
	}
	c.unclaim(k)
	select {
	case <-k.done:
	default:
		c.send(event, k.id)
	}
}

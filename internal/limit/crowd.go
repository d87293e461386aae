package limit

import (
	"sync"
	"time"
)

// crowdRetry is what somebody is asked to wait who is one too many: places become
// free when others leave, which nobody can foretell.
const crowdRetry = time.Second

// Share says how many may be in at once; zero is no limit.
type Share struct {
	// PerNetwork is for one IPv4 address or one IPv6 /64.
	PerNetwork int
	// Total is for all of them together.
	Total int
	// Local is for callers on this machine, who then do not count into Total: no
	// stranger keeps a local tool out. Zero treats them like all others.
	Local int
}

// Crowd counts who is in, per network and in all.
type Crowd struct {
	share Share

	mu    sync.Mutex
	count map[string]int
	local int
	sum   int
}

// NewCrowd makes an empty one.
func NewCrowd(share Share) *Crowd { return &Crowd{share: share, count: map[string]int{}} }

// Enter counts one in until leave is called, which may be called more than once.
// local says that the caller is on this machine and speaks for nobody else.
func (c *Crowd) Enter(address string, local bool) (leave func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if local && c.share.Local > 0 {
		if c.local >= c.share.Local {
			return nil, &Error{RetryAfter: crowdRetry}
		}
		c.local++
		return sync.OnceFunc(c.leaveLocal), nil
	}
	name := Network(address)
	if c.share.Total > 0 && c.sum >= c.share.Total {
		return nil, &Error{RetryAfter: crowdRetry, Everybody: true}
	}
	if c.share.PerNetwork > 0 && c.count[name] >= c.share.PerNetwork {
		return nil, &Error{RetryAfter: crowdRetry}
	}
	c.count[name]++
	c.sum++
	return sync.OnceFunc(func() { c.leave(name) }), nil
}

func (c *Crowd) leave(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sum--
	if c.count[name]--; c.count[name] == 0 {
		delete(c.count, name)
	}
}

func (c *Crowd) leaveLocal() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.local--
}

// Len is how many are in.
func (c *Crowd) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sum + c.local
}

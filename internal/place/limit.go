package place

import "time"

// maxCounted bounds how many names are kept in memory.
const maxCounted = 100_000

// What a peer may ask for and send in a minute.
const (
	peerCalls = 600
	peerBytes = 60 << 20
)

// usePeer counts one call of a peer and its bytes.
func (p *Place) usePeer(name string, bytes int) (ok bool, wait time.Duration) {
	if ok, wait := p.peerCalls.Allow(name, p.now()); !ok {
		return false, wait
	}
	return p.peerBytes.AllowN(name, bytes, p.now())
}

// retryIn rounds a wait up to whole seconds.
func retryIn(wait time.Duration) int { return max(1, int((wait+time.Second-1)/time.Second)) }

package tunnel

import (
	"net/netip"
	"sync"
	"time"
)

// failures counts what went wrong per address and minute. Unlike a throttle of
// attempts it costs the same for the thousandth machine behind one address as for
// the first.
type failures struct {
	most int

	mu    sync.Mutex
	count map[netip.Prefix]window
}

// window is one minute of an address.
type window struct {
	from time.Time
	n    int
}

const (
	failureWindow = time.Minute
	// failureAddresses bounds the table; when it is full it starts anew.
	failureAddresses = 65_536
)

func newFailures(most int) *failures {
	return &failures{most: most, count: map[netip.Prefix]window{}}
}

// blocked is how long an address must wait; 0 if it need not.
func (f *failures) blocked(address string) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	w, ok := f.count[networkOf(address)]
	if !ok || w.n < f.most {
		return 0
	}
	return max(0, failureWindow-time.Since(w.from))
}

func (f *failures) add(address string) {
	key, now := networkOf(address), time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	w, known := f.count[key]
	if now.Sub(w.from) >= failureWindow {
		w = window{from: now}
	}
	if !known && len(f.count) >= failureAddresses {
		clear(f.count)
	}
	w.n++
	f.count[key] = w
}

// networkOf is what counts as one address: whoever has an IPv6 network has at
// least a /64 of addresses.
func networkOf(address string) netip.Prefix {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return netip.Prefix{}
	}
	ip = ip.Unmap().WithZone("")
	bits := ip.BitLen()
	if ip.Is6() && !ip.IsLoopback() {
		bits = 64
	}
	prefix, err := ip.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return prefix
}

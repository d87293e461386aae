package wsconn

import (
	"net"
	"net/netip"
	"sync"
)

// AddressLimit counts connections per client address and in all. A face has one for its open connections and
// perhaps another for those that have not said who they are.
type AddressLimit struct {
	perAddress, total int

	mu    sync.Mutex
	count map[netip.Addr]int
	sum   int
}

// NewAddressLimit allows that many per address and in all; 0 is no limit.
func NewAddressLimit(perAddress, total int) *AddressLimit {
	return &AddressLimit{perAddress: perAddress, total: total, count: make(map[netip.Addr]int)}
}

// Take counts one connection from addr (an http.Request's RemoteAddr) until release is called. It returns ErrTooMany,
// wrapped in *TooManyError, when that is one too many. release may be called more than once.
func (l *AddressLimit) Take(addr string) (release func(), err error) {
	key := addressKey(addr)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.total > 0 && l.sum >= l.total {
		return nil, &TooManyError{}
	}
	if l.perAddress > 0 && l.count[key] >= l.perAddress {
		return nil, &TooManyError{PerAddress: true}
	}
	l.count[key]++
	l.sum++
	return sync.OnceFunc(func() { l.release(key) }), nil
}

func (l *AddressLimit) release(key netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sum--
	if l.count[key]--; l.count[key] == 0 {
		delete(l.count, key)
	}
}

// Len is how many are counted now.
func (l *AddressLimit) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sum
}

// TooManyError is ErrTooMany and says which limit it was: the address's (429) or everyone's (503).
type TooManyError struct{ PerAddress bool }

func (e *TooManyError) Error() string {
	if e.PerAddress {
		return ErrTooMany.Error() + " from this address"
	}
	return ErrTooMany.Error()
}

// Is makes errors.Is(err, ErrTooMany) true.
func (e *TooManyError) Is(target error) bool { return target == ErrTooMany }

// addressKey is the address without port. Whoever has an IPv6 network has at least a /64 of addresses, so
// those count as one.
func addressKey(addr string) netip.Addr {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = addr
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is6() && !ip.IsLoopback() {
		prefix, _ := ip.Prefix(64)
		return prefix.Addr()
	}
	return ip
}

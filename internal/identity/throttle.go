package identity

import (
	"container/list"
	"fmt"
	"net/netip"
	"sync"
	"time"
)

// Limits bound what one address may try.
type Limits struct {
	// PerMinute attempts are looked at; more are refused unseen.
	PerMinute int
	// Failures within Window lock the address for Lock. Zero never locks.
	Failures     int
	Window, Lock time.Duration
	// Addresses bounds the table; the one longest silent is forgotten first.
	Addresses int
}

// The limits of logins with any credential, and of pairing codes, which are
// short and must not be guessed.
var (
	LoginLimits   = Limits{PerMinute: 60, Failures: 5, Window: 5 * time.Minute, Lock: 5 * time.Minute, Addresses: 16_384}
	PairingLimits = Limits{PerMinute: 10, Failures: 5, Window: 5 * time.Minute, Lock: 5 * time.Minute, Addresses: 16_384}
)

// ThrottledError says how long an address must wait.
type ThrottledError struct {
	// RetryAfter is the true time until an attempt is looked at again; never zero.
	RetryAfter time.Duration
	// Locked is set when failures caused it, not mere frequency.
	Locked bool
}

func (e *ThrottledError) Error() string {
	return fmt.Sprintf("too many attempts; try again in %s", e.RetryAfter.Round(time.Millisecond))
}

// Is matches ErrThrottled.
func (e *ThrottledError) Is(target error) bool { return target == ErrThrottled }

// Throttle slows down guessing, per address and per hub.
//
//	if err := throttle.Attempt(address); err != nil { … }   // credential not looked at
//	… throttle.Failed(address) or throttle.Succeeded(address)
type Throttle struct {
	limits Limits
	mu     sync.Mutex
	known  map[string]*list.Element
	order  *list.List // of *visitor, longest silent first
}

type visitor struct {
	address  string
	attempts []time.Time
	failures []time.Time
	locked   time.Time
}

// NewThrottle makes an empty one.
func NewThrottle(limits Limits) *Throttle {
	return &Throttle{limits: limits, known: map[string]*list.Element{}, order: list.New()}
}

// Attempt counts an attempt, or refuses it with a *ThrottledError.
func (t *Throttle) Attempt(address string) error {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	v := t.visitor(address)
	if wait := v.locked.Sub(now); wait > 0 {
		return &ThrottledError{RetryAfter: wait, Locked: true}
	}
	v.attempts = since(v.attempts, now.Add(-time.Minute))
	if len(v.attempts) >= t.limits.PerMinute {
		return &ThrottledError{RetryAfter: max(v.attempts[0].Add(time.Minute).Sub(now), time.Millisecond)}
	}
	v.attempts = append(v.attempts, now)
	return nil
}

// Failed counts a failure and reports whether it locked the address.
func (t *Throttle) Failed(address string) (locked bool) {
	if t.limits.Failures <= 0 {
		return false
	}
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	v := t.visitor(address)
	v.failures = append(since(v.failures, now.Add(-t.limits.Window)), now)
	if len(v.failures) < t.limits.Failures {
		return false
	}
	v.locked, v.failures = now.Add(t.limits.Lock), nil
	return true
}

// Succeeded clears the failures of an address.
func (t *Throttle) Succeeded(address string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.visitor(address).failures = nil
}

// visitor finds or makes the record of an address.
func (t *Throttle) visitor(address string) *visitor {
	address = Network(address)
	if e, ok := t.known[address]; ok {
		t.order.MoveToBack(e)
		return e.Value.(*visitor)
	}
	for t.order.Len() >= max(t.limits.Addresses, 1) {
		oldest := t.order.Remove(t.order.Front()).(*visitor)
		delete(t.known, oldest.address)
	}
	v := &visitor{address: address}
	t.known[address] = t.order.PushBack(v)
	return v
}

// Network is what counts as one address: an IPv4 address, or the /64 of an IPv6
// one, since whoever has one of those has all of it.
func Network(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		pair, err := netip.ParseAddrPort(address)
		if err != nil {
			return address
		}
		ip = pair.Addr()
	}
	if ip = ip.Unmap(); ip.Is4() {
		return ip.String()
	}
	block, err := ip.WithZone("").Prefix(64)
	if err != nil {
		return address
	}
	return block.String()
}

// since drops the times before start.
func since(times []time.Time, start time.Time) []time.Time {
	for len(times) > 0 && !times[0].After(start) {
		times = times[1:]
	}
	return times
}

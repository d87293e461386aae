package identity

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// forgetRevoked is how long a revocation is remembered for sessions that were
// authenticated before it and are tracked after it.
const forgetRevoked = time.Hour

// Live is a connection that ends when its credential does.
type Live struct {
	set   *liveSet
	refs  []ref
	close func(Reason)

	mu    sync.Mutex
	timer *time.Timer
	over  bool
}

// liveSet is the live connections of this hub.
type liveSet struct {
	mu     sync.Mutex
	all    map[*Live]struct{}
	byRef  map[ref]map[*Live]struct{}
	recent map[ref]time.Time
	closed bool
	ending sync.WaitGroup
}

func newLiveSet() *liveSet {
	return &liveSet{all: map[*Live]struct{}{}, byRef: map[ref]map[*Live]struct{}{}, recent: map[ref]time.Time{}}
}

// Track calls close once if the actor's token or page is revoked, or when
// actor.Expires is reached. close runs on its own goroutine.
// Release ends the tracking.
func (d *Directory) Track(actor Actor, close func(Reason)) *Live {
	l := &Live{set: d.live, refs: actor.refs(), close: close}
	already := d.live.add(l)
	l.Renew(actor.Expires)
	if already {
		l.end(Revoked)
	}
	return l
}

// Tracked counts the live connections of this hub.
func (d *Directory) Tracked() int {
	d.live.mu.Lock()
	defer d.live.mu.Unlock()
	return len(d.live.all)
}

// Renew moves the time at which the session expires; zero means never.
func (l *Live) Renew(expires time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	if !l.over && !expires.IsZero() {
		l.timer = time.AfterFunc(time.Until(expires), func() { l.end(SessionExpired) })
	}
}

// Release ends the tracking; close is not called any more.
func (l *Live) Release() {
	if l.finish() {
		l.set.remove(l)
	}
}

// finish reports whether the caller is the one that ends l.
func (l *Live) finish() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return false
	}
	l.over = true
	if l.timer != nil {
		l.timer.Stop()
	}
	return true
}

func (l *Live) end(reason Reason) {
	if !l.finish() {
		return
	}
	l.set.remove(l)
	l.set.mu.Lock()
	defer l.set.mu.Unlock()
	if !l.set.closed {
		l.set.ending.Go(func() { l.close(reason) })
	}
}

// add reports whether the session was revoked before it was tracked.
func (s *liveSet) add(l *Live) (already bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[l] = struct{}{}
	for _, r := range l.refs {
		if s.byRef[r] == nil {
			s.byRef[r] = map[*Live]struct{}{}
		}
		s.byRef[r][l] = struct{}{}
		_, gone := s.recent[r]
		already = already || gone
	}
	return already
}

func (s *liveSet) remove(l *Live) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, l)
	for _, r := range l.refs {
		delete(s.byRef[r], l)
		if len(s.byRef[r]) == 0 {
			delete(s.byRef, r)
		}
	}
}

// revoked reports whether any of refs was revoked lately.
func (s *liveSet) revoked(refs []ref) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range refs {
		if _, gone := s.recent[r]; gone {
			return true
		}
	}
	return false
}

// revoke ends every session that depends on r.
func (s *liveSet) revoke(r ref) {
	now := time.Now()
	s.mu.Lock()
	for old, at := range s.recent {
		if now.Sub(at) > forgetRevoked {
			delete(s.recent, old)
		}
	}
	s.recent[r] = now
	ending := slices.Collect(maps.Keys(s.byRef[r]))
	s.mu.Unlock()
	for _, l := range ending {
		l.end(Revoked)
	}
}

// stop stops all timers and waits for close functions that run.
func (s *liveSet) stop() {
	s.mu.Lock()
	s.closed = true
	all := slices.Collect(maps.Keys(s.all))
	s.mu.Unlock()
	for _, l := range all {
		l.Release()
	}
	s.ending.Wait()
}

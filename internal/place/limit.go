package place

import (
	"sync"
	"time"
)

// maxCounted bounds how many names a counter keeps.
const maxCounted = 100_000

// Window counts events per name in windows of fixed length.
type Window struct {
	Limit int
	Every time.Duration

	mu    sync.Mutex
	start time.Time
	count map[string]int
}

// Take counts one event; when there were too many it says how long to wait. An
// empty name is exempt.
func (w *Window) Take(name string, now time.Time) (ok bool, wait time.Duration) {
	if name == "" {
		return true, 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count == nil || now.Sub(w.start) >= w.Every || now.Before(w.start) || len(w.count) > maxCounted {
		w.start, w.count = now, map[string]int{}
	}
	if w.count[name] >= w.Limit {
		return false, w.start.Add(w.Every).Sub(now)
	}
	w.count[name]++
	return true, 0
}

// meters hold peers to their requests and bytes a minute.
type meters struct {
	mu    sync.Mutex
	start time.Time
	used  map[string]*meter
}

type meter struct{ calls, bytes int }

const (
	peerCalls = 600
	peerBytes = 60 << 20
)

func (m *meters) take(name string, bytes int, now time.Time) (ok bool, wait time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.used == nil || now.Sub(m.start) >= time.Minute || now.Before(m.start) {
		m.start, m.used = now, map[string]*meter{}
	}
	u := m.used[name]
	if u == nil {
		u = &meter{}
		m.used[name] = u
	}
	if u.calls >= peerCalls || u.bytes+bytes > peerBytes {
		return false, m.start.Add(time.Minute).Sub(now)
	}
	u.calls++
	u.bytes += bytes
	return true, 0
}

// retryIn rounds a wait up to whole seconds.
func retryIn(wait time.Duration) int { return max(1, int((wait+time.Second-1)/time.Second)) }

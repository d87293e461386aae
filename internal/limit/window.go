package limit

import (
	"sync"
	"time"
)

// maxNames bounds how many names a window keeps. A window that is fuller begins anew.
const maxNames = 100_000

// Window counts per name in spans of fixed length, which are the same for all
// names. Every is a minute unless it says otherwise.
type Window struct {
	Most  int
	Every time.Duration

	mu    sync.Mutex
	start time.Time
	count map[string]int
}

// Allow counts one event, or says how long to wait. An empty name is never refused.
func (w *Window) Allow(name string, now time.Time) (ok bool, wait time.Duration) {
	return w.AllowN(name, 1, now)
}

// AllowN counts n of something, all or nothing.
func (w *Window) AllowN(name string, n int, now time.Time) (ok bool, wait time.Duration) {
	if name == "" {
		return true, 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turn(now)
	if w.count[name]+n > w.Most {
		return false, w.left(now)
	}
	w.count[name] += n
	return true, 0
}

// Add counts one event that has happened already.
func (w *Window) Add(name string, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turn(now)
	w.count[name]++
}

// Wait is how long a name must wait for the next window; 0 if it need not.
func (w *Window) Wait(name string, now time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turn(now)
	if w.count[name] < w.Most {
		return 0
	}
	return w.left(now)
}

func (w *Window) turn(now time.Time) {
	if w.count == nil || now.Sub(w.start) >= w.span() || now.Before(w.start) || len(w.count) > maxNames {
		w.start, w.count = now, map[string]int{}
	}
}

func (w *Window) left(now time.Time) time.Duration {
	return max(time.Millisecond, w.start.Add(w.span()).Sub(now))
}

func (w *Window) span() time.Duration {
	if w.Every <= 0 {
		return time.Minute
	}
	return w.Every
}

package brain

import (
	"sync"
	"time"
)

// Stopwatch counts a run's time against its limit, without the time in which the run waits for a
// person: whoever is asked may take days. The zero value is ready.
type Stopwatch struct {
	mu      sync.Mutex
	timer   *time.Timer // nil before the run began and after it ended
	left    time.Duration
	since   time.Time
	waiting int
}

// start begins to count; over is called when the limit is reached.
func (s *Stopwatch) start(limit time.Duration, over func()) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left, s.since, s.timer = limit, time.Now(), time.AfterFunc(limit, over)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.timer.Stop()
		s.timer = nil
	}
}

// Wait lets the clock stand still until the returned function is called. Several may wait at once.
func (s *Stopwatch) Wait() (goOn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting++
	if s.waiting == 1 && s.timer != nil {
		s.timer.Stop()
		s.left -= time.Since(s.since)
	}
	return s.goOn
}

func (s *Stopwatch) goOn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting--
	if s.waiting == 0 && s.timer != nil {
		s.since = time.Now()
		s.timer.Reset(max(s.left, 0))
	}
}

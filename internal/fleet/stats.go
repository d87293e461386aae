package fleet

import (
	"maps"
	"slices"
	"sync"
	"time"

	"parley.internal/internal/fleet/fault"
)

// Stats counts what a hub did with machines since it started. Its keys are small
// sets: never a machine's id.
type Stats struct {
	mu         sync.Mutex
	handshakes map[string]int64
	frames     map[[2]string]int64
	calls      map[[2]string]int64
	dropped    map[string]int64
	seconds    Histogram
}

// Histogram counts durations of calls by upper bound in seconds.
type Histogram struct {
	Bounds []float64
	Counts []uint64 // one per bound, cumulative
	Count  uint64
	Sum    float64
}

func newStats() *Stats {
	bounds := []float64{.005, .025, .1, .5, 2.5, 10, 60, 600}
	return &Stats{
		handshakes: map[string]int64{}, frames: map[[2]string]int64{}, calls: map[[2]string]int64{}, dropped: map[string]int64{},
		seconds: Histogram{Bounds: bounds, Counts: make([]uint64, len(bounds))},
	}
}

// Handshake counts an attempt by its result: ok, refused, limited, legacy.
func (s *Stats) Handshake(result string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handshakes[result]++
}

// frame counts an inbound frame by type and ok, bad or dropped.
func (s *Stats) frame(typ, result string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frames[[2]string{typ, result}]++
}

func (s *Stats) call(tool string, code fault.Code, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if code == "" {
		code = "ok"
	}
	s.calls[[2]string{tool, string(code)}]++
	s.seconds.Count++
	s.seconds.Sum += took.Seconds()
	for i, b := range s.seconds.Bounds {
		if took.Seconds() <= b {
			s.seconds.Counts[i]++
		}
	}
}

// drop counts something that was thrown away.
func (s *Stats) drop(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropped[what]++
}

// Counted is a copy of the counters.
type Counted struct {
	Handshakes map[string]int64
	Frames     map[[2]string]int64 // type, result
	Calls      map[[2]string]int64 // tool, code
	Dropped    map[string]int64
	Seconds    Histogram
}

// Read copies the counters.
func (s *Stats) Read() Counted {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := Counted{
		Handshakes: maps.Clone(s.handshakes), Frames: maps.Clone(s.frames), Calls: maps.Clone(s.calls), Dropped: maps.Clone(s.dropped), Seconds: s.seconds,
	}
	c.Seconds.Counts = slices.Clone(s.seconds.Counts)
	return c
}

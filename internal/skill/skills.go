package skill

import (
	"context"
	"sync"
	"time"

	"parley.internal/internal/place"
	"parley.internal/internal/scan"
	"parley.internal/internal/wake"
	"parley.internal/protocol/mmp"
)

// Skills is all exchanges of the agents of one hub. Its methods may be called at
// the same time.
type Skills struct {
	d       Deps
	c       Config
	scanner *scan.Scanner
	wake    wake.Bell
	stop    context.CancelFunc
	done    sync.WaitGroup

	mu      sync.Mutex
	hosts   map[string]Host // by name
	lines   map[lineKey]Line
	watched map[string]bool // approvals somebody waits for
	reading map[string]bool // peers whose note an agent reads now
	run     context.Context //nolint:containedctx // the life of the waits that Start began
}

type lineKey struct{ me, place string }

var _ place.Meeting = (*Skills)(nil)

// New makes the package's state; Start begins its work.
func New(d Deps, c Config) (*Skills, error) {
	d.defaults()
	scanner, err := scan.New()
	if err != nil {
		return nil, err
	}
	return &Skills{
		d: d, c: c, scanner: scanner, wake: wake.New(), hosts: map[string]Host{}, lines: map[lineKey]Line{}, watched: map[string]bool{},
		reading: map[string]bool{},
	}, nil
}

// Start sends what waits, ends what is late and acts on what people decide, until
// Close.
func (s *Skills) Start(ctx context.Context) error {
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.mu.Lock()
	s.run, s.stop = run, stop
	s.mu.Unlock()
	s.done.Go(func() { s.work(run) })
	return nil
}

// Close ends the work; what waits stays on disk.
func (s *Skills) Close() error {
	s.mu.Lock()
	stop := s.stop
	s.mu.Unlock()
	if stop != nil {
		stop()
	}
	s.done.Wait()
	return nil
}

// Join makes an agent reachable at a place; the empty place is this hub's own. What
// waits for it goes out.
func (s *Skills) Join(h Host, at string, line Line) {
	s.mu.Lock()
	s.hosts[h.Name] = h
	s.lines[lineKey{h.ID, at}] = line
	s.mu.Unlock()
	s.wake.Ring()
}

// Leave ends an agent's presence at a place; at its own place it is gone.
func (s *Skills) Leave(name, at string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, ok := s.hosts[name]
	if !ok {
		return
	}
	delete(s.lines, lineKey{h.ID, at})
	if at == "" {
		delete(s.hosts, name)
	}
}

// Hosts lists the agents that meet others.
func (s *Skills) Hosts() []Host {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Host, 0, len(s.hosts))
	for _, h := range s.hosts {
		out = append(out, h)
	}
	return out
}

// host finds an agent by name or id; empty is the front agent.
func (s *Skills) host(agent string) (Host, error) {
	if agent == "" {
		agent = s.c.Front
	}
	if h, ok := s.joined(agent); ok {
		return h, nil
	}
	if s.d.Host == nil {
		return Host{}, mmp.ErrAgentNotFound
	}
	h, err := s.d.Host(agent)
	if err != nil {
		return Host{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hosts[h.Name] = h
	return h, nil
}

func (s *Skills) joined(agent string) (Host, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h, ok := s.hosts[agent]; ok {
		return h, true
	}
	for _, h := range s.hosts {
		if h.ID == agent {
			return h, true
		}
	}
	return Host{}, false
}

func (s *Skills) line(me, at string) Line {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lines[lineKey{me, at}]
}

func (s *Skills) now() time.Time { return s.d.Now() }

// Pauses of the worker.
const (
	workEvery  = 2 * time.Second
	sweepEvery = 30 * time.Second
)

func (s *Skills) work(ctx context.Context) {
	tick := time.NewTicker(workEvery)
	defer tick.Stop()
	var swept time.Time
	for {
		s.flush(ctx)
		s.deliverDue(ctx)
		if now := s.now(); now.Sub(swept) >= sweepEvery {
			swept = now
			if err := s.Sweep(ctx); err != nil && ctx.Err() == nil {
				s.d.Log.Warn("skills: sweeping", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-s.wake:
		}
	}
}

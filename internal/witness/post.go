package witness

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/wake"
)

// post is a target and what waits for it.
type post struct {
	Target
	log     *slog.Logger
	wake    wake.Bell
	closing chan struct{}

	mu      sync.Mutex
	waiting []audit.Checkpoint
	state   State
}

func (p *post) offer(cp audit.Checkpoint) {
	p.mu.Lock()
	p.waiting = append(p.waiting, cp)
	if extra := len(p.waiting) - maxWaiting; extra > 0 && !p.All {
		p.waiting = p.waiting[extra:]
	}
	p.mu.Unlock()
	p.wake.Ring()
}

// run is the goroutine of the post. News are no reason to ask a target sooner that
// did not take the last ones.
func (p *post) run() {
	pause := firstPause
	for {
		var again <-chan time.Time
		news := p.wake
		if p.putAll(putTime) {
			pause = firstPause
		} else {
			news, again = nil, time.After(pause)
			pause = min(2*pause, lastPause)
		}
		select {
		case <-news:
		case <-again:
		case <-p.closing:
			p.putAll(closeTime)
			return
		}
	}
}

// putAll hands over what waits; false when it was not taken.
func (p *post) putAll(within time.Duration) bool {
	for {
		batch := p.batch()
		if len(batch) == 0 {
			return true
		}
		ctx, cancel := context.WithTimeout(context.Background(), within)
		err := p.Put(ctx, batch)
		cancel()
		p.note(batch, err)
		if err != nil {
			return false
		}
	}
}

func (p *post) batch() []audit.Checkpoint {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]audit.Checkpoint{}, p.waiting[:min(len(p.waiting), maxPut)]...)
}

// note remembers how an attempt went.
func (p *post) note(batch []audit.Checkpoint, err error) {
	p.mu.Lock()
	first := err != nil && p.state.Error == ""
	if err != nil {
		p.state.Failures++
		p.state.Error = err.Error()
	} else {
		p.state.Error, p.state.Last = "", batch[len(batch)-1]
		p.drop(batch)
	}
	p.mu.Unlock()
	if first {
		p.log.Warn("a witness of the audit trail takes no checkpoints; it is tried again", "witness", p.Name, "error", err)
	}
}

// drop takes out what was put. Meanwhile the oldest may have made room for newer ones.
func (p *post) drop(batch []audit.Checkpoint) {
	last := batch[len(batch)-1].Hash
	for i, cp := range p.waiting {
		if cp.Hash == last {
			p.waiting = p.waiting[i+1:]
			return
		}
	}
}

package room

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"parley.internal/internal/limit"
	"parley.internal/protocol/kibitz"
)

// Rates of one connection; a room's own is in Limits. They are kept where the
// socket is, so that a flood never reaches the room.
const (
	humanRate, humanBurst = 10, 40
	agentRate, agentBurst = 5, 20
	inkRate, inkBurst     = 60, 120
	sigRate, sigBurst     = 50, 200
	doorRate, doorBurst   = 2, 10
	modRate, modBurst     = 5, 20
	byteRate, byteBurst   = 1 << 20, 4 << 20
	roomBurstFactor       = 2
	// floodNaks within floodWindow end a connection, and so do badFrames within
	// badWindow.
	floodNaks   = 100
	floodWindow = 10 * time.Second
	badFrames   = 10
	badWindow   = time.Minute
)

// rates is what one connection may still send.
type rates struct {
	content, ink, sig, door, mod, bytes *rate.Limiter
}

func newRates() *rates {
	return &rates{
		content: rate.NewLimiter(humanRate, humanBurst), ink: rate.NewLimiter(inkRate, inkBurst),
		sig: rate.NewLimiter(sigRate, sigBurst), door: rate.NewLimiter(doorRate, doorBurst),
		mod: rate.NewLimiter(modRate, modBurst), bytes: rate.NewLimiter(byteRate, byteBurst),
	}
}

// agent gives the connection an agent's share of the room.
func (r *rates) agent() {
	r.content.SetLimit(agentRate)
	r.content.SetBurst(agentBurst)
}

// wait is how long until a frame of that size may come; zero: now, and counted.
func (r *rates) wait(f kibitz.ClientFrame, ink bool, size int) time.Duration {
	switch f.(type) {
	case *kibitz.Send:
		by := r.content
		if ink {
			by = r.ink
		}
		if d := limit.Spend(by, 1); d > 0 {
			return d
		}
		return limit.Spend(r.bytes, size)
	case *kibitz.Sig:
		return limit.Spend(r.sig, 1)
	case *kibitz.SetGrant, *kibitz.Mod, *kibitz.Blocked:
		return limit.Spend(r.mod, 1)
	case *kibitz.Voice, *kibitz.Knock, *kibitz.Resume, *kibitz.Media, *kibitz.Sync:
		return limit.Spend(r.door, 1)
	}
	return 0
}

// streak counts what happens within a sliding window.
type streak struct {
	mu    sync.Mutex
	times []time.Time
}

// hit tells whether this is the most-th one within the window.
func (s *streak) hit(most int, window time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	keep := 0
	for keep < len(s.times) && now.Sub(s.times[keep]) >= window {
		keep++
	}
	s.times = append(s.times[keep:], now)
	return len(s.times) >= most
}

package lease

import (
	"strings"
	"time"
)

// Figures are what this hub knows of leases without asking the database.
type Figures struct {
	// Held counts what this hub owns by the first word of the names.
	Held map[string]int
	// Living is how many hubs lived at the last renewal, this one included.
	Living int
	// Since is how long ago the last renewal was that went well.
	Since time.Duration
	// TakenOver counts things taken over from hubs that had died, Lost things that others
	// have now, Failed renewals that failed.
	TakenOver, Lost, Failed int64
}

// Figures reads what was counted.
func (l *Leases) Figures() Figures {
	f := Figures{
		Held: map[string]int{}, TakenOver: l.takenOver.Load(), Lost: l.lost.Load(), Failed: l.failed.Load(),
		Since: time.Since(l.since) - time.Duration(l.until.Load()) + l.opts.TTL,
	}
	l.living.mu.Lock()
	f.Living = max(1, len(l.living.hubs))
	l.living.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	for name := range l.held {
		family, _, _ := strings.Cut(name, ".")
		f.Held[family]++
	}
	return f
}

package brain

import (
	"context"
	"sync"
)

// MemoryLedger is a Ledger that forgets when the program ends.
type MemoryLedger struct {
	mu   sync.Mutex
	days map[agentDay]Spend
}

type agentDay struct{ agent, day string }

// NewMemoryLedger makes an empty one.
func NewMemoryLedger() *MemoryLedger { return &MemoryLedger{days: map[agentDay]Spend{}} }

// Spent sums the days from first to last.
func (l *MemoryLedger) Spent(_ context.Context, agent, first, last string) (Spend, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var sum Spend
	for k, s := range l.days {
		if k.agent == agent && k.day >= first && k.day <= last {
			sum.Tokens += s.Tokens
			sum.Micros += s.Micros
		}
	}
	return sum, nil
}

// Add counts an amount on a day.
func (l *MemoryLedger) Add(_ context.Context, agent, day string, s Spend) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := agentDay{agent, day}
	sum := l.days[k]
	l.days[k] = Spend{Tokens: sum.Tokens + s.Tokens, Micros: sum.Micros + s.Micros}
	return nil
}

package brain

import (
	"context"
	"fmt"
	"sync"
	"time"

	"parley/internal/brain/model"
)

// Budget limits what an agent may spend; zero means no limit. Money is in
// millionths of a US dollar. A day is a UTC day.
type Budget struct {
	RunMicros int64
	RunTokens int64
	DayMicros int64
	DayTokens int64
	// MonthMicros and Hard are for tasks, whose daily and monthly limits warn and
	// ask unless they are hard.
	MonthMicros int64
	Hard        bool
}

// Spend is an amount spent.
type Spend struct{ Tokens, Micros int64 }

// Ledger remembers what agents spent, per UTC day ("2006-01-02").
type Ledger interface {
	// Spent sums the days from first to last.
	Spent(ctx context.Context, agent, first, last string) (Spend, error)
	// Add counts an amount on a day.
	Add(ctx context.Context, agent, day string, s Spend) error
}

// Day is the day of a time, as a Ledger names it.
func Day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// Meter watches the budget of one run. Delegated runs have a child of it, and what
// they use counts here too. It may be used from several goroutines.
type Meter struct {
	agent  string
	budget Budget
	ledger Ledger
	parent *Meter

	mu  sync.Mutex
	run Spend
}

// NewMeter makes the meter of a run of an agent. A nil ledger keeps no days.
func NewMeter(agent string, b Budget, ledger Ledger) *Meter {
	return &Meter{agent: agent, budget: b, ledger: ledger}
}

// Child is the meter of a run on behalf of this one: it is held to both budgets.
func (m *Meter) Child(agent string, b Budget) *Meter {
	return &Meter{agent: agent, budget: b, ledger: m.ledger, parent: m}
}

// Spent is what this run and those on its behalf used so far.
func (m *Meter) Spent() Spend {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.run
}

// Check returns an error that is [ErrBudget] and names the limit when nothing is
// left of one.
func (m *Meter) Check(ctx context.Context) error {
	spent := m.Spent()
	if err := m.limits(spent, m.budget.RunTokens, m.budget.RunMicros, "run"); err != nil {
		return err
	}
	if err := m.checkDay(ctx); err != nil {
		return err
	}
	if m.parent != nil {
		return m.parent.Check(ctx)
	}
	return nil
}

func (m *Meter) checkDay(ctx context.Context) error {
	if m.ledger == nil || m.budget.DayMicros == 0 && m.budget.DayTokens == 0 {
		return nil
	}
	today := Day(time.Now())
	spent, err := m.ledger.Spent(ctx, m.agent, today, today)
	if err != nil {
		return fmt.Errorf("reading what %s spent: %w", m.agent, err)
	}
	return m.limits(spent, m.budget.DayTokens, m.budget.DayMicros, "day")
}

func (m *Meter) limits(spent Spend, tokens, micros int64, span string) error {
	if tokens > 0 && spent.Tokens >= tokens {
		return fmt.Errorf("%w: %s used %d of %d tokens per %s", ErrBudget, m.agent, spent.Tokens, tokens, span)
	}
	if micros > 0 && spent.Micros >= micros {
		return fmt.Errorf("%w: %s used $%.4f of $%.4f per %s", ErrBudget, m.agent, usd(spent.Micros), usd(micros), span)
	}
	return nil
}

func usd(micros int64) float64 { return float64(micros) / 1e6 }

// Add counts what a model call used: on the run and the day of this agent, and of
// those it works for, so that delegating is no way around a budget. It is written
// even if ctx has just ended: the money is spent.
func (m *Meter) Add(ctx context.Context, u model.Usage) error {
	s := Spend{Tokens: u.Total(), Micros: u.CostMicros}
	if s == (Spend{}) {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	today := Day(time.Now())
	for at := m; at != nil; at = at.parent {
		at.count(s)
		if at.ledger == nil || m.reaches(at.agent, at) {
			continue
		}
		if err := at.ledger.Add(ctx, at.agent, today, s); err != nil {
			return fmt.Errorf("counting what %s spent: %w", at.agent, err)
		}
	}
	return nil
}

// reaches tells whether an agent was met on the way up to a meter: an agent that
// delegates to itself spends once.
func (m *Meter) reaches(agent string, before *Meter) bool {
	for at := m; at != before; at = at.parent {
		if at.agent == agent {
			return true
		}
	}
	return false
}

func (m *Meter) count(s Spend) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.run.Tokens += s.Tokens
	m.run.Micros += s.Micros
}

package brain

import (
	"context"
	"fmt"
	"sync"
	"time"

	"parley.internal/internal/brain/model"
)

// Budget limits what an agent may spend; zero means no limit. Money is in
// millionths of a US dollar. Days and months are those of UTC.
type Budget struct {
	RunMicros   int64
	RunTokens   int64
	DayMicros   int64
	DayTokens   int64
	MonthMicros int64
	// Hard is for tasks, whose daily and monthly limits warn and ask unless they
	// are hard. In conversations every limit holds.
	Hard bool
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

// MonthStart is the first day of the month of a time, as a Ledger names it.
func MonthStart(t time.Time) string { return t.UTC().Format("2006-01") + "-01" }

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
	if err := within(m.agent, spent, m.budget.RunTokens, m.budget.RunMicros, "run"); err != nil {
		return err
	}
	if err := CheckSpans(ctx, m.ledger, m.agent, m.budget, time.Now()); err != nil {
		return err
	}
	if m.parent != nil {
		return m.parent.Check(ctx)
	}
	return nil
}

// CheckSpans returns an error that is [ErrBudget] when nothing is left of what an
// agent may spend in the day or the month that a time is in. A nil ledger knows
// of no spending.
func CheckSpans(ctx context.Context, ledger Ledger, agent string, b Budget, now time.Time) error {
	if ledger == nil {
		return nil
	}
	today := Day(now)
	for _, span := range []struct {
		name, first    string
		tokens, micros int64
	}{{"day", today, b.DayTokens, b.DayMicros}, {"month", MonthStart(now), 0, b.MonthMicros}} {
		if span.tokens == 0 && span.micros == 0 {
			continue
		}
		spent, err := ledger.Spent(ctx, agent, span.first, today)
		if err != nil {
			return fmt.Errorf("reading what %s spent: %w", agent, err)
		}
		if err := within(agent, spent, span.tokens, span.micros, span.name); err != nil {
			return err
		}
	}
	return nil
}

func within(agent string, spent Spend, tokens, micros int64, span string) error {
	if tokens > 0 && spent.Tokens >= tokens {
		return fmt.Errorf("%w: %s used %d of %d tokens per %s", ErrBudget, agent, spent.Tokens, tokens, span)
	}
	if micros > 0 && spent.Micros >= micros {
		return fmt.Errorf("%w: %s used $%.4f of $%.4f per %s", ErrBudget, agent, usd(spent.Micros), usd(micros), span)
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

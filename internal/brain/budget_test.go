package brain_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley.internal/internal/brain"
	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/tool"
)

func TestABudgetStopsBetweenRoundsAndRefusesTheNextRun(t *testing.T) {
	for name, b := range map[string]brain.Budget{
		"run tokens": {RunTokens: 200}, "day tokens": {DayTokens: 200},
		"run money": {RunMicros: 200_000}, "day money": {DayMicros: 200_000}, "month money": {MonthMicros: 200_000},
	} {
		t.Run(name, func(t *testing.T) {
			ledger := brain.NewMemoryLedger()
			p := &fake{acts: []act{wants("more", "x {}")}} // 110 tokens, $0.11 each
			s := spec(p, echo("x", tool.ReadOnly, 0))
			s.Model.Price = &brain.Price{Input: 1000, Output: 1000}
			s.Meter = brain.NewMeter("parley", b, ledger)
			out := brain.Run(t.Context(), s, &log{})
			if out.Stop != brain.StopBudget || !errors.Is(out.Err, brain.ErrBudget) || p.calls() != 2 || out.Usage.CostMicros != 220_000 {
				t.Errorf("%+v after %d calls", out, p.calls())
			}
			if !strings.Contains(out.Err.Error(), "parley") {
				t.Error(out.Err)
			}
			next := brain.NewMeter("parley", b, ledger).Check(t.Context())
			if lasts := !strings.HasPrefix(name, "run"); errors.Is(next, brain.ErrBudget) != lasts {
				t.Errorf("the next run: %v", next)
			}
			if err := brain.NewMeter("other", b, ledger).Check(t.Context()); err != nil {
				t.Errorf("another agent pays: %v", err)
			}
		})
	}
}

func TestADayEndsAtMidnightUTC(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger := brain.NewMemoryLedger()
		b := brain.Budget{DayTokens: 10}
		if err := brain.NewMeter("a", b, ledger).Add(t.Context(), model.Usage{Prompt: 10}); err != nil {
			t.Fatal(err)
		}
		<-time.After(23*time.Hour + 59*time.Minute) // the bubble begins at midnight UTC
		if err := brain.NewMeter("a", b, ledger).Check(t.Context()); !errors.Is(err, brain.ErrBudget) {
			t.Error("the day is not over", err)
		}
		<-time.After(2 * time.Minute)
		if err := brain.NewMeter("a", b, ledger).Check(t.Context()); err != nil {
			t.Error("a new day", err)
		}
	})
}

func TestAMonthEndsWithItsLastDayUTC(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger := brain.NewMemoryLedger()
		b := brain.Budget{MonthMicros: 10}
		if err := brain.NewMeter("a", b, ledger).Add(t.Context(), model.Usage{Prompt: 1, CostMicros: 10}); err != nil {
			t.Fatal(err)
		}
		<-time.After(30 * 24 * time.Hour) // the bubble begins on 1 January 2000
		if err := brain.NewMeter("a", b, ledger).Check(t.Context()); !errors.Is(err, brain.ErrBudget) || !strings.Contains(err.Error(), "month") {
			t.Error("the month is not over", err)
		}
		<-time.After(24 * time.Hour)
		if err := brain.NewMeter("a", b, ledger).Check(t.Context()); err != nil {
			t.Error("a new month", err)
		}
	})
}

func TestDelegatesSpendTheirCallersBudgetToo(t *testing.T) {
	ledger := brain.NewMemoryLedger()
	caller := brain.NewMeter("boss", brain.Budget{RunTokens: 100, DayTokens: 1000}, ledger)
	child := caller.Child("worker", brain.Budget{})
	self := child.Child("boss", brain.Budget{})
	if err := self.Add(t.Context(), model.Usage{Prompt: 100}); err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]*brain.Meter{"caller": caller, "child": child, "grandchild": self} {
		if err := m.Check(t.Context()); !errors.Is(err, brain.ErrBudget) {
			t.Errorf("%s: %v; want brain.ErrBudget", name, err)
		}
	}
	today := brain.Day(time.Now())
	for agent, want := range map[string]int64{"boss": 100, "worker": 100} {
		if got, _ := ledger.Spent(t.Context(), agent, today, today); got.Tokens != want {
			t.Errorf("%s: %d; want got.Tokens to be %v", agent, got.Tokens, want)
		}
	}
}

func TestSpendingIsCountedFromManyGoroutinesAndAfterACancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := brain.NewMeter("a", brain.Budget{}, brain.NewMemoryLedger())
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if err := m.Add(ctx, model.Usage{Prompt: 1, Completion: 1, CostMicros: 3}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if m.Spent() != (brain.Spend{Tokens: 100, Micros: 150}) {
		t.Error(m.Spent())
	}
}

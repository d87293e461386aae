package brain_test

import (
	"sync"
	"testing"

	"parley.internal/internal/brain"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
)

// testLedger is the contract of every Ledger.
func testLedger(t *testing.T, l brain.Ledger) {
	t.Helper()
	ctx := t.Context()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if err := l.Add(ctx, "a", "2026-03-01", brain.Spend{Tokens: 10, Micros: 3}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for day, s := range map[string]brain.Spend{"2026-02-28": {Tokens: 1}, "2026-03-31": {Micros: 7}, "2026-04-01": {Tokens: 1000}} {
		if err := l.Add(ctx, "a", day, s); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Add(ctx, "b", "2026-03-01", brain.Spend{Tokens: 5}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		agent, first, last string
		want               brain.Spend
	}{
		{"a", "2026-03-01", "2026-03-01", brain.Spend{Tokens: 200, Micros: 60}},
		{"a", "2026-03-01", "2026-03-31", brain.Spend{Tokens: 200, Micros: 67}},
		{"a", "2026-03-02", "2026-03-30", brain.Spend{}},
		{"b", "2026-03-01", "2026-03-31", brain.Spend{Tokens: 5}},
		{"c", "2026-03-01", "2026-03-31", brain.Spend{}},
	} {
		got, err := l.Spent(ctx, c.agent, c.first, c.last)
		if err != nil || got != c.want {
			t.Errorf("%s %s..%s: %+v %v; want no error, %v", c.agent, c.first, c.last, got, err, c.want)
		}
	}
}

func TestTheLedgerInMemory(t *testing.T) { testLedger(t, brain.NewMemoryLedger()) }

func TestTheLedgerInTheStore(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) { testLedger(t, brain.NewStoreLedger(db)) })
}

package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"

	"parley.internal/internal/store"
)

// durableRow: a row that is on disk when the call returns.
func durableRow() Row {
	return Row{Name: "durable", What: "one row written durably (SQLite), against append + flush of the bare disk", Run: runDurable}
}

// inFlight are how many write at once, with the ratio to reach.
var inFlight = []struct {
	n     int
	least float64
}{{1, 0.7}, {32, 5}, {256, 8}}

func runDurable(ctx context.Context, env *Env) ([]Result, error) {
	db, err := store.Open(ctx, filepath.Join(env.Dir, "parley.db"), store.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }()
	d, err := openDisk(env.Dir)
	if err != nil {
		return nil, err
	}
	defer d.close()
	rows := &notes{db: db, value: strings.Repeat("v", 128)}
	var results []Result
	for _, f := range inFlight {
		w := writing{inFlight: f.n, write: func(int) error { return rows.add(ctx, 1) }}
		r, err := w.against(env, d, fmt.Sprintf("%d in flight", f.n), f.least)
		if err != nil {
			return results, err
		}
		results = append(results, r)
	}
	grown, err := durableGrowth(ctx, env, d, rows)
	return append(results, grown...), err
}

// durableGrowth repeats 32 in flight with ten and a hundred times the rows there.
func durableGrowth(ctx context.Context, env *Env, d *disk, rows *notes) ([]Result, error) {
	var steps []Result
	for _, n := range pick(env, []int64{50_000, 500_000, 5_000_000}, []int64{1_000, 10_000}) {
		env.say("filling up to %s rows", thousands(n))
		for rows.next.Load() < n {
			if err := rows.add(ctx, int(min(n-rows.next.Load(), 10_000))); err != nil {
				return steps, err
			}
		}
		w := writing{inFlight: 32, write: func(int) error { return rows.add(ctx, 1) }}
		r, err := w.against(env, d, fmt.Sprintf("32 in flight, %s rows there", thousands(n)), 0)
		if err != nil {
			return steps, err
		}
		steps = append(steps, r)
	}
	grow(steps, perOp(steps))
	return steps, nil
}

// notes are rows of a small table.
type notes struct {
	db    *store.DB
	value string
	next  atomic.Int64
}

// add writes n rows in one transaction.
func (s *notes) add(ctx context.Context, n int) error {
	last := s.next.Add(int64(n))
	return s.db.Write(ctx, func(tx *store.Tx) error {
		for i := last - int64(n); i < last; i++ {
			if _, err := tx.Exec(`INSERT INTO settings (name, value) VALUES (?, ?)`, fmt.Sprintf("bench/%012d", i), s.value); err != nil {
				return err
			}
		}
		return nil
	})
}

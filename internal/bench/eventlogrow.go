package bench

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"

	"parley.internal/internal/bus"
	"parley.internal/internal/eventlog"
	"parley.internal/internal/store"
)

// eventlogRow: an event numbered, on disk and on the bus.
func eventlogRow() Row {
	return Row{Name: "eventlog", What: "one event appended durably to a stream, against append + flush of the bare disk", Run: runEventlog}
}

// journal is an event log on a store and a bus of its own.
type journal struct {
	*eventlog.Log
	db  *store.DB
	bus bus.Bus
}

func openJournal(ctx context.Context, dir string) (*journal, error) {
	db, err := store.Open(ctx, filepath.Join(dir, "parley.db"), store.Options{})
	if err != nil {
		return nil, err
	}
	b := bus.NewLocal()
	return &journal{eventlog.New(db, b, slog.New(slog.DiscardHandler)), db, b}, nil
}

func (j *journal) close() {
	_ = j.bus.Close()
	_ = j.db.Close()
}

func runEventlog(ctx context.Context, env *Env) ([]Result, error) {
	j, err := openJournal(ctx, env.Dir)
	if err != nil {
		return nil, err
	}
	defer j.close()
	d, err := openDisk(env.Dir)
	if err != nil {
		return nil, err
	}
	defer d.close()
	event := eventlog.Event{Kind: "delta", Data: make([]byte, 128)}
	var results []Result
	for _, f := range inFlight {
		w := writing{inFlight: f.n, write: func(who int) error {
			_, err := j.Append(ctx, nil, fmt.Sprintf("in-flight.%d.%d", f.n, who), event)
			return err
		}}
		r, err := w.against(env, d, count(f.n, "stream")+" in flight", f.least)
		if err != nil {
			return results, err
		}
		results = append(results, r)
	}
	grown, err := eventlogGrowth(ctx, env, d, j)
	return append(results, grown...), err
}

// eventlogGrowth appends to streams that are longer and longer.
func eventlogGrowth(ctx context.Context, env *Env, d *disk, j *journal) ([]Result, error) {
	const streams = 32
	event := eventlog.Event{Kind: "delta", Data: make([]byte, 128)}
	var steps []Result
	have := 0
	for _, length := range pick(env, []int{100, 1_000, 10_000}, []int{10, 100}) {
		for who := range streams {
			batch := make([]eventlog.Event, length-have)
			for i := range batch {
				batch[i] = event
			}
			if _, err := j.Append(ctx, nil, fmt.Sprintf("long.%d", who), batch...); err != nil {
				return steps, err
			}
		}
		have = length
		w := writing{inFlight: streams, write: func(who int) error {
			_, err := j.Append(ctx, nil, fmt.Sprintf("long.%d", who), event)
			return err
		}}
		r, err := w.against(env, d, "32 streams of "+count(length, "event"), 0)
		if err != nil {
			return steps, err
		}
		steps = append(steps, r)
	}
	grow(steps, perOp(steps))
	return steps, nil
}

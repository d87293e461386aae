package fleet

import (
	"context"
	"time"

	"parley.internal/internal/fleet/telemetry"
	"parley.internal/internal/store"
)

const day = 24 * time.Hour

// pruneBatch keeps each transaction of the clean-up short.
const pruneBatch = 500

// prune forgets what is old, every hour, in small batches.
func (f *Fleet) prune() {
	tick := time.NewTicker(f.d.Limits.Prune)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			f.report("old records of machines stay for now", f.Prune(f.ctx, time.Now()))
		case <-f.ctx.Done():
			return
		}
	}
}

// old is one kind of row that is forgotten after a while.
type old struct {
	table, key, where string
	args              []any
}

// Prune forgets what retention does not keep, as of a time.
func (f *Fleet) Prune(ctx context.Context, now time.Time) error {
	ago := func(d time.Duration) int64 { return store.Micros(now.Add(-d)) }
	list := []old{
		{"fleet_events", "seq", "at < ?", []any{ago(30 * day)}},
		{"fleet_calls", "id", "at < ?", []any{ago(400 * day)}},
		{"fleet_updates", "id", "changed_at < ?", []any{ago(400 * day)}},
		{"fleet_rollouts", "id", "created_at < ? AND state NOT IN ('running', 'paused')", []any{ago(400 * day)}},
		{"fleet_queue", "id", "finished_at > 0 AND finished_at < ?", []any{ago(30 * day)}},
		{"fleet_enrol", "hash", "expires_at < ? AND used_at < ?", []any{ago(90 * day), ago(90 * day)}},
		{"fleet_legacy", "hash", "expires_at < ?", []any{ago(90 * day)}},
		{"fleet_links", "hash", "expires_at < ? AND used_at < ?", []any{ago(90 * day), ago(90 * day)}},
		{"fleet_snapshots", "machine, received_at", "received_at < ?", []any{ago(30 * day)}},
		{"fleet_screens", "machine, n", "at < ?", []any{ago(7 * day)}},
	}
	for _, o := range telemetry.OldSeries(now) {
		list = append(list, old{"fleet_series", "machine, metric, label, span, at", o.Where, o.Args})
	}
	for _, o := range list {
		if err := f.forget(ctx, o); err != nil {
			return err
		}
	}
	if err := f.hideSensitive(ctx, ago(time.Hour)); err != nil {
		return err
	}
	return f.thin(ctx, now)
}

// forget deletes rows of one kind, a batch at a time.
func (f *Fleet) forget(ctx context.Context, o old) error {
	for {
		var n int64
		err := f.d.DB.Write(ctx, func(tx *store.Tx) (err error) {
			n, err = tx.Exec(`DELETE FROM `+o.table+` WHERE (`+o.key+`) IN (SELECT `+o.key+` FROM `+o.table+` WHERE `+o.where+` LIMIT ?)`, append(append([]any{}, o.args...), pruneBatch)...)
			return err
		})
		if err != nil || n < pruneBatch {
			return err
		}
	}
}

// hideSensitive blanks results of deferred calls that show private things.
func (f *Fleet) hideSensitive(ctx context.Context, before int64) error {
	return f.d.DB.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE fleet_queue SET result = ? WHERE class = 'S' AND finished_at > 0 AND finished_at < ? AND length(result) > 2`, []byte("{}"), before)
		return err
	})
}

// thin keeps fewer snapshots of a large fleet: all of a day, one an hour for a
// week, one a day after that.
func (f *Fleet) thin(ctx context.Context, now time.Time) error {
	f.mu.RLock()
	many := len(f.machines) > f.d.Limits.FullHistory
	f.mu.RUnlock()
	if !many {
		return nil
	}
	for _, step := range []struct {
		from, until time.Duration
		bucket      time.Duration
	}{{7 * day, day, time.Hour}, {30 * day, 7 * day, day}} {
		for _, m := range f.all() {
			if err := f.thinOne(ctx, m.id, store.Micros(now.Add(-step.from)), store.Micros(now.Add(-step.until)), step.bucket.Microseconds()); err != nil {
				return err
			}
		}
	}
	return nil
}

// thinOne keeps the newest snapshot of each bucket.
func (f *Fleet) thinOne(ctx context.Context, id string, from, until, bucket int64) error {
	return f.d.DB.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`DELETE FROM fleet_snapshots WHERE machine = ? AND received_at >= ? AND received_at < ? AND received_at NOT IN
			(SELECT max(received_at) FROM fleet_snapshots WHERE machine = ? AND received_at >= ? AND received_at < ? GROUP BY received_at / ?)`,
			id, from, until, id, from, until, bucket)
		return err
	})
}

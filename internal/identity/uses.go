package identity

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"parley.internal/internal/store"
)

// flushEvery is how often times of last use are written. Losing some in a crash
// costs a display its exactness and a sliding life some seconds.
const flushEvery = 30 * time.Second

// useLog gathers when credentials were used, so that no request waits for it.
type useLog struct {
	mu   sync.Mutex
	used map[use]time.Time
}

// use is a credential and, for a paired device, its id.
type use struct {
	ref
	device string
}

func newUseLog() *useLog { return &useLog{used: map[use]time.Time{}} }

func (u *useLog) note(s Actor, now time.Time) {
	at := use{ref: ref{refToken, s.TokenID}, device: s.Device}
	if s.PageID != "" {
		at = use{ref: ref{refPage, s.PageID}}
	}
	u.mu.Lock()
	u.used[at] = now
	u.mu.Unlock()
}

// drain empties the log.
func (u *useLog) drain() map[use]time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	taken := u.used
	u.used = map[use]time.Time{}
	return taken
}

// putBack returns what could not be written, unless newer uses are noted.
func (u *useLog) putBack(taken map[use]time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for at, when := range taken {
		if u.used[at].Before(when) {
			u.used[at] = when
		}
	}
}

// keepUses does what can wait: times of last use, and forgetting.
func (d *Directory) keepUses(ctx context.Context) {
	flush, purge := time.NewTicker(flushEvery), time.NewTicker(purgeEvery)
	defer flush.Stop()
	defer purge.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-flush.C:
			err = d.flushUses(ctx)
		case <-purge.C:
			err = d.purge(ctx)
		}
		if err != nil && ctx.Err() == nil {
			d.opts.Logger.Warn("identity upkeep failed; it is tried again", "error", err)
		}
	}
}

// flushUses writes the gathered times in one transaction.
func (d *Directory) flushUses(ctx context.Context) error {
	taken := d.uses.drain()
	if len(taken) == 0 {
		return nil
	}
	// A fixed order keeps two hubs from locking the same rows crosswise.
	order := slices.Collect(maps.Keys(taken))
	slices.SortFunc(order, func(a, b use) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID)) })
	err := d.db.Write(ctx, func(tx *store.Tx) error {
		for _, at := range order {
			if err := at.write(tx, store.Micros(taken[at])); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		d.uses.putBack(taken)
	}
	return err
}

func (u use) write(tx *store.Tx, at int64) error {
	if u.Kind == refPage {
		_, err := tx.Exec(`UPDATE page_sessions SET last_used_at = ? WHERE id = ? AND last_used_at < ?`, at, u.ID, at)
		return err
	}
	if u.device == "" {
		_, err := tx.Exec(`UPDATE tokens SET last_used_at = ? WHERE id = ? AND last_used_at < ?`, at, u.ID, at)
		return err
	}
	// A device whose maker has ended meanwhile has ended with it.
	if err := slide(tx, u.ID, store.Time(at)); err != nil && !errors.Is(err, ErrRefused) {
		return err
	}
	_, err := tx.Exec(`UPDATE devices SET last_seen_at = ? WHERE id = ? AND last_seen_at < ?`, at, u.device, at)
	return err
}

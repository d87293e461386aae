package identity

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/bus"
	"parley.internal/internal/limit"
	"parley.internal/internal/store"
)

// Options tune a directory; the zero value is right for a hub.
type Options struct {
	// Audit receives what happens to credentials; nil records nothing.
	Audit  audit.Recorder
	Logger *slog.Logger
	// Recheck is how often the store is asked for revocations the bus may have
	// lost (default 500 ms).
	Recheck time.Duration
	// PageLife and PageIdle end a logged-in page (default 30 and 7 days).
	PageLife, PageIdle time.Duration
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Recheck <= 0 {
		o.Recheck = 500 * time.Millisecond
	}
	if o.PageLife <= 0 {
		o.PageLife = 30 * 24 * time.Hour
	}
	if o.PageIdle <= 0 {
		o.PageIdle = 7 * 24 * time.Hour
	}
	return o
}

// Directory is everybody this hub knows and the live connections they have here.
type Directory struct {
	db    *store.DB
	bus   bus.Bus
	opts  Options
	cache *cache
	live  *liveSet
	uses  *useLog
	codes *limit.Guesses

	stop context.CancelFunc
	done sync.WaitGroup
	sub  bus.Subscription
	// applied is the newest change this hub knows; only the follow goroutine uses it.
	applied int64
}

// Open starts a directory on a migrated store. Close ends it.
func Open(ctx context.Context, db *store.DB, b bus.Bus, opts Options) (*Directory, error) {
	d := &Directory{
		db: db, bus: b, opts: opts.withDefaults(),
		cache: newCache(), live: newLiveSet(), uses: newUseLog(), codes: limit.NewGuesses(PairingLimits),
	}
	var err error
	// The number is read before anything can be cached, so no change is missed.
	if d.applied, err = d.clock(ctx); err != nil {
		return nil, err
	}
	if d.sub, err = b.Subscribe(revokedSubject, d.heard); err != nil {
		return nil, err
	}
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	d.stop = stop
	d.done.Go(func() { d.follow(run) })
	d.done.Go(func() { d.keepUses(run) })
	return d, nil
}

// Close writes what is still to be written and stops. Live connections are the
// faces' to close.
func (d *Directory) Close() error {
	d.stop()
	d.sub.Close()
	d.done.Wait()
	d.live.stop()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return d.flushUses(ctx)
}

// record writes one audit entry about a credential.
func (d *Directory) record(tx *store.Tx, by Actor, action audit.Action, target string, detail map[string]any) error {
	if d.opts.Audit == nil {
		return nil
	}
	if detail == nil {
		detail = map[string]any{}
	}
	for name, value := range map[string]string{"token": by.TokenID, "page": by.PageID, "device": by.Device, "address": by.Address} {
		if value != "" {
			detail["by_"+name] = value
		}
	}
	return d.opts.Audit.AppendTx(tx, audit.Entry{Actor: by.String(), Action: action, Target: target, Detail: detail})
}

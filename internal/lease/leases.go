package lease

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"parley.internal/internal/store"
)

// Options tune a hub's membership; the zero value is right.
type Options struct {
	// TTL is how long a silent hub keeps its things (default 4 s; alone, when
	// nobody waits for them, 8 s): long enough for a stalled database, short enough
	// that people see a pause and not an outage.
	TTL time.Duration
	// Renew is how often the hub says that it lives (default TTL/4).
	Renew time.Duration
	// Alone says that no other hub can be alive on this database (a SQLite file
	// whose folder this hub has locked): what a former life owned is free at once.
	Alone bool
	// Apart says that this hub has no bus that others could be on.
	Apart bool
	// Former is what ID gave the last life of this hub, which is over.
	Former string
	// Hears tells whether the bus to the others works; nil is always.
	Hears  func() error
	Logger *slog.Logger
}

// Leases is one running hub's share of the ownership.
type Leases struct {
	db   *store.DB
	id   string
	opts Options
	mu   sync.Mutex
	held map[string]*Lease
	// doubtful are names whose rows may say that this hub owns them although it does
	// not: a release failed, or nobody knows whether an acquisition was committed.
	doubtful map[string]bool
	// living are the hubs that lived at the last look.
	living look

	// renewed is when the last renewal was, away the last outage before it; by the
	// database's clock.
	renewed int64
	away    gap
	// What Figures tells.
	takenOver, lost, failed atomic.Int64

	// deafSince is when this hub last began to hear nobody, by the database's clock; 0
	// while it hears the others. It belongs to the renewal.
	deafSince int64
	cutOff    chan struct{}
	giveWay   sync.Once

	stop context.CancelFunc
	done chan struct{}
	// since is when this life began; until, after it, how long nobody else can
	// have taken anything.
	since time.Time
	until atomic.Int64
}

// Join registers a hub and keeps it alive until Close. Every start is a new
// member, named after the hub: a hub that comes back does not own what its
// former life owned.
func Join(ctx context.Context, db *store.DB, hub string, opts Options) (*Leases, error) {
	if opts.TTL <= 0 {
		opts.TTL = 4 * time.Second
		if opts.Alone {
			opts.TTL = 8 * time.Second
		}
	}
	if opts.Renew <= 0 {
		opts.Renew = opts.TTL / 4
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	l := &Leases{db: db, id: hub + "/" + uuid.NewString()[:8], opts: opts, held: map[string]*Lease{}, doubtful: map[string]bool{}, done: make(chan struct{}), cutOff: make(chan struct{}), since: time.Now()}
	if err := l.enter(ctx); err != nil {
		return nil, err
	}
	l.sure(l.since)
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop = stop
	go l.keepAlive(run)
	return l, nil
}

// ID names this membership.
func (l *Leases) ID() string { return l.id }

func (l *Leases) join(ctx context.Context) error {
	return l.db.Write(ctx, func(tx *store.Tx) error {
		now, err := clock(tx)
		if err != nil {
			return err
		}
		if l.opts.Alone {
			if _, err := tx.Exec(`DELETE FROM hubs`); err != nil {
				return err
			}
		}
		if err := l.meet(tx, now); err != nil {
			return err
		}
		l.renewedAt(now)
		// Rows of hubs that are long gone and own nothing are only history.
		_, err = tx.Exec(`DELETE FROM hubs WHERE expires_at < ? AND NOT EXISTS (SELECT 1 FROM leases WHERE owner = hubs.id)`, now-int64(time.Hour/time.Microsecond))
		if err != nil {
			return err
		}
		_, err = tx.Exec(`INSERT INTO hubs (id, started_at, expires_at, apart) VALUES (?, ?, ?, ?)`, l.id, now, now+l.opts.TTL.Microseconds(), l.apart())
		return err
	})
}

func (l *Leases) keepAlive(ctx context.Context) {
	defer close(l.done)
	tick := time.NewTicker(l.opts.Renew)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := l.renew(ctx); err != nil && ctx.Err() == nil {
			l.failed.Add(1)
			l.opts.Logger.Warn("lease: cannot renew this hub's membership", "error", err)
		}
	}
}

// renew says that the hub lives and drops the leases others have taken.
func (l *Leases) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.opts.TTL)
	defer cancel()
	before, doubtful, owned, began := l.holding(), l.doubts(), map[string]int64{}, time.Now()
	var living []string
	var now int64
	err := l.db.Write(ctx, func(tx *store.Tx) (err error) {
		clear(owned)
		if now, err = clock(tx); err != nil {
			return err
		}
		if _, err := tx.Exec(`UPDATE hubs SET expires_at = ? WHERE id = ?`, now+l.opts.TTL.Microseconds(), l.id); err != nil {
			return err
		}
		if err := l.listen(tx, now); err != nil {
			return err
		}
		err = tx.Each(func(row *sql.Rows) error {
			var name string
			var epoch int64
			if err := row.Scan(&name, &epoch); err != nil {
				return err
			}
			owned[name] = epoch
			return nil
		}, `SELECT name, epoch FROM leases WHERE owner = ?`, l.id)
		if err != nil {
			return err
		}
		for _, name := range doubtful {
			if err := l.free(tx, name, owned[name]); err != nil {
				return err
			}
		}
		living, err = l.readLiving(tx, now)
		return err
	})
	if err == nil {
		l.renewedAt(now)
		l.dropOthers(before, owned)
		l.settled(doubtful)
		l.sure(began)
		l.living.set(living, began)
	}
	return err
}

// sure notes that the membership was good at a time: for its time to live from
// then on nobody takes anything away.
func (l *Leases) sure(at time.Time) { l.until.Store(int64(at.Sub(l.since) + l.opts.TTL)) }

// dropOthers ends the leases of before that are not ours any more. One taken
// after the query ran is not in before.
func (l *Leases) dropOthers(before []*Lease, owned map[string]int64) {
	for _, held := range before {
		if owned[held.name] != held.epoch {
			l.forget(held)
			held.drop()
			l.lost.Add(1)
		}
	}
}

func (l *Leases) holding() []*Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Values(l.held))
}

// Acquire takes the thing if nobody living owns it. Asking again for what this
// hub already holds gives the same lease.
func (l *Leases) Acquire(ctx context.Context, name string) (*Lease, error) {
	l.mu.Lock()
	mine, ok := l.held[name]
	again := l.doubtful[name]
	delete(l.doubtful, name)
	l.mu.Unlock()
	if ok {
		return mine, nil
	}
	epoch, from, err := l.claim(ctx, name, again)
	if err != nil {
		if _, held := errors.AsType[*HeldError](err); !held {
			l.doubt(name)
		}
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if mine, ok := l.held[name]; ok && mine.epoch == epoch {
		return mine, nil
	}
	got := &Lease{leases: l, name: name, epoch: epoch, lost: make(chan struct{})}
	l.held[name] = got
	if from != "" {
		l.takenOver.Add(1)
	}
	delete(l.doubtful, name)
	return got, nil
}

// claim makes the row ours. again says that it may be already, by an acquisition that is
// over: then its epoch rises too, so that the freeing of that one finds nothing.
// from is the dead hub that had it.
func (l *Leases) claim(ctx context.Context, name string, again bool) (epoch int64, from string, err error) {
	err = l.db.Write(ctx, func(tx *store.Tx) error {
		from = ""
		if _, err := tx.Exec(`INSERT INTO leases (name, owner, epoch) VALUES (?, '', 0) ON CONFLICT (name) DO NOTHING`, name); err != nil {
			return err
		}
		var owner string
		if err := tx.QueryRow(`SELECT owner, epoch FROM leases WHERE name = ?`+tx.ForUpdate(), name).Scan(&owner, &epoch); err != nil {
			return err
		}
		if owner == l.id && !again {
			return nil
		}
		if owner == l.id {
			owner = ""
		}
		if alive, err := l.lives(tx, owner); err != nil || alive {
			return errors.Join(err, held(alive, name, owner))
		}
		epoch++
		from = owner
		_, err := tx.Exec(`UPDATE leases SET owner = ?, epoch = ? WHERE name = ?`, l.id, epoch, name)
		return err
	})
	return epoch, from, err
}

func held(alive bool, name, owner string) error {
	if !alive {
		return nil
	}
	return &HeldError{Name: name, Owner: owner}
}

// Owner tells which living hub holds the thing; "" if none does.
func (l *Leases) Owner(ctx context.Context, name string) (owner string, err error) {
	err = l.db.Read(ctx, func(tx *store.Tx) error {
		err := tx.QueryRow(`SELECT owner FROM leases WHERE name = ?`, name).Scan(&owner)
		if isNoRows(err) {
			return nil
		}
		if err != nil {
			return err
		}
		alive, err := l.lives(tx, owner)
		if !alive {
			owner = ""
		}
		return err
	})
	return owner, err
}

// Orphans lists things with the given prefix whose hub is dead; whoever sees
// them may Acquire them.
func (l *Leases) Orphans(ctx context.Context, prefix string, limit int) (names []string, err error) {
	err = l.db.Read(ctx, func(tx *store.Tx) error {
		names = nil
		now, err := clock(tx)
		if err != nil {
			return err
		}
		return tx.Each(store.Into(&names), `SELECT name FROM leases WHERE owner <> '' AND name >= ? AND name < ?
			AND NOT EXISTS (SELECT 1 FROM hubs WHERE hubs.id = leases.owner AND expires_at > ?)
			ORDER BY name LIMIT ?`, prefix, prefix+"\xf4\x8f\xbf\xbf", l.deadBefore(now), limit)
	})
	return names, err
}

// Close gives everything back and leaves.
func (l *Leases) Close(ctx context.Context) error {
	l.stop()
	<-l.done
	l.mu.Lock()
	for name, held := range l.held {
		delete(l.held, name)
		held.drop()
	}
	l.mu.Unlock()
	return l.db.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(`UPDATE leases SET owner = '' WHERE owner = ?`, l.id); err != nil {
			return err
		}
		_, err := tx.Exec(`DELETE FROM hubs WHERE id = ?`, l.id)
		return err
	})
}

// Abandon stops renewing without giving anything back, as a crash would.
func (l *Leases) Abandon() {
	l.stop()
	<-l.done
}

func (l *Leases) forget(gone *Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[gone.name] == gone {
		delete(l.held, gone.name)
	}
}

func (l *Leases) lives(tx *store.Tx, hub string) (bool, error) {
	if hub == "" {
		return false, nil
	}
	now, err := clock(tx)
	if err != nil {
		return false, err
	}
	var n int
	err = tx.QueryRow(`SELECT count(*) FROM hubs WHERE id = ? AND expires_at > ?`, hub, l.deadBefore(now)).Scan(&n)
	return n > 0, err
}

// clock is the database's time where several machines share it, so that their
// own clocks do not matter.
func clock(tx *store.Tx) (us int64, err error) {
	if tx.Dialect() == store.SQLite {
		return time.Now().UnixMicro(), nil
	}
	err = tx.QueryRow(`SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint`).Scan(&us)
	return us, err
}

func isNoRows(err error) bool { return errors.Is(err, sql.ErrNoRows) }

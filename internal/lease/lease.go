package lease

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"parley.internal/internal/store"
)

// Lease is the right of this hub to run one thing.
type Lease struct {
	leases *Leases
	name   string
	epoch  int64
	lost   chan struct{}
	once   sync.Once
	onLost atomic.Pointer[func()]
}

// Name is the thing's name.
func (l *Lease) Name() string { return l.name }

// Epoch is the fencing number; it differs from every earlier and later owner's.
func (l *Lease) Epoch() int64 { return l.epoch }

// Lost is closed once this hub knows that the lease is gone.
func (l *Lease) Lost() <-chan struct{} { return l.lost }

// OnLost has fn called once the lease is gone, by whoever finds out: it must not wait
// for anything, and may be called twice. It is for owners that wait for many things
// and would wait for Lost besides.
func (l *Lease) OnLost(fn func()) {
	l.onLost.Store(&fn)
	if l.gone() {
		fn()
	}
}

// Certain tells, without asking the database, that nobody else can have the thing
// now. When it is false the hub may have been given up for dead: Check knows.
func (l *Lease) Certain() bool {
	return l.leases.opts.Alone || int64(time.Since(l.leases.since)) < l.leases.until.Load()
}

// Check fails with ErrLost unless this lease is still the current one. Call it
// in the transaction of every write it guards.
func (l *Lease) Check(tx *store.Tx) error {
	var one int
	err := tx.QueryRow(`SELECT 1 FROM leases WHERE name = ? AND owner = ? AND epoch = ?`+tx.ForShare(), l.name, l.leases.id, l.epoch).Scan(&one)
	if err == nil {
		return nil
	}
	if isNoRows(err) {
		l.drop()
		return ErrLost
	}
	return err
}

// Verify is Check in a transaction of its own, for whoever is not [Lease.Certain].
func (l *Lease) Verify(ctx context.Context) error { return l.leases.db.Write(ctx, l.Check) }

// Release gives the thing back, so that anybody may take it at once. When the database
// cannot be told, the next renewals do: a hub that lives must not seem to own what it
// does not run.
func (l *Lease) Release(ctx context.Context) error {
	l.leases.forget(l)
	l.drop()
	err := l.leases.db.Write(ctx, func(tx *store.Tx) error { return l.leases.free(tx, l.name, l.epoch) })
	if err != nil {
		l.leases.doubt(l.name)
	}
	return err
}

// New is the lease of a thing that is only now made, so that nobody can own it.
// Claim it in the transaction that makes the thing, and Claimed once that is
// committed; until then it is worth nothing.
func (l *Leases) New(name string) *Lease {
	return &Lease{leases: l, name: name, epoch: 1, lost: make(chan struct{})}
}

// Claim takes a new thing. See [Leases.New].
func (l *Lease) Claim(tx *store.Tx) error {
	_, err := tx.Exec(`INSERT INTO leases (name, owner, epoch) VALUES (?, ?, ?)`, l.name, l.leases.id, l.epoch)
	return err
}

// Claimed tells that the transaction of Claim is committed.
func (l *Lease) Claimed() {
	l.leases.mu.Lock()
	defer l.leases.mu.Unlock()
	l.leases.held[l.name] = l
}

// Retire gives up a thing that will never be owned again, and forgets it. Its name
// must not be used for anything else.
func (l *Lease) Retire(ctx context.Context) error {
	l.Retired()
	return l.leases.db.Write(ctx, l.RetireTx)
}

// RetireTx is Retire in the transaction that ends the thing. Call Retired once that
// is committed.
func (l *Lease) RetireTx(tx *store.Tx) error {
	_, err := tx.Exec(`DELETE FROM leases WHERE name = ? AND owner = ? AND epoch = ?`, l.name, l.leases.id, l.epoch)
	return err
}

// Retired forgets a thing that was retired.
func (l *Lease) Retired() {
	l.leases.forget(l)
	l.drop()
}

// gone tells, without asking the database, that the lease was lost or given up.
func (l *Lease) gone() bool {
	select {
	case <-l.lost:
		return true
	default:
		return false
	}
}

func (l *Lease) drop() {
	l.once.Do(func() {
		close(l.lost)
		if fn := l.onLost.Load(); fn != nil {
			(*fn)()
		}
	})
}

package place

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"parley.internal/internal/bus"
	"parley.internal/internal/limit"
	"parley.internal/internal/place/relay"
	"parley.internal/internal/store"
	"parley.internal/internal/turns"
	"parley.internal/internal/wake"
	"parley.internal/protocol/mmp"
)

// Place is a meeting place.
type Place struct {
	d       Deps
	c       Config
	id      string
	public  ed25519.PublicKey
	started time.Time

	presence presence
	sessions sessions
	waiters  waiters
	hints    hints
	newIDs   limit.Window // per network
	deposits limit.Window // per agent, an hour's attempts
	// peerCalls and peerBytes are per peer.
	peerCalls, peerBytes limit.Window

	figures  figures
	scopes   scopes
	remember meta
	relay    *relay.Relay
	court    judge
	arrivals *turns.Group[*entering]
	keys     keyMemory

	subs []bus.Subscription
	stop context.CancelFunc
	wg   sync.WaitGroup
	// serving is set once the background work runs; leading while this hub keeps
	// house for all.
	serving, leading atomic.Bool
	// outbox holds a word that something waits for a peer.
	outbox wake.Bell
}

var _ API = (*Place)(nil)

// New opens the place on a migrated store. Requests work at once; Start runs what
// happens by itself.
func New(ctx context.Context, d Deps, c Config) (*Place, error) {
	d.defaults()
	c.defaults()
	switch c.Auth {
	case Open, TOFU, Strict:
	default:
		return nil, fmt.Errorf("place: unknown policy %q", c.Auth)
	}
	public, ok := d.Key.Public().(ed25519.PublicKey)
	if !ok {
		return nil, errors.New("place: the hub's key is missing")
	}
	p := &Place{
		d: d, c: c, id: mmp.PlaceIDOf(public), public: public,
		outbox: wake.New(), newIDs: limit.Window{Most: c.NewIDs}, deposits: limit.Window{Most: 60, Every: time.Hour},
		peerCalls: limit.Window{Most: peerCalls}, peerBytes: limit.Window{Most: peerBytes},
	}
	p.started = p.now()
	p.sessions.known = map[string]session{}
	p.court.p = p
	p.arrivals = turns.New(512, func(*entering) int { return 1 }, func(batch []*turns.Call[*entering]) (func(), error) { return nil, p.enterAll(batch) })
	p.waiters.of = map[string]map[*waiter]struct{}{}
	if err := p.loadMeta(ctx); err != nil {
		return nil, err
	}
	var err error
	if p.relay, err = relay.Open(ctx, relay.Deps{
		DB: d.DB, Dir: d.Dir, Judge: &p.court, Note: noteRelay, Log: d.Log, Now: p.now, Limit: c.QueueLimit, MaxBytes: c.MaxBytes, Soft: c.Sync == SyncOS,
	}); err != nil {
		return nil, err
	}
	if err := p.recount(ctx); err != nil {
		return nil, err
	}
	if err := p.beginLog(ctx); err != nil {
		return nil, err
	}
	if err := p.loadKeys(ctx); err != nil {
		return nil, err
	}
	return p, p.listen()
}

// Start runs the write-behind, the sweeper and federation until Close.
func (p *Place) Start(context.Context) error {
	if !p.serving.CompareAndSwap(false, true) {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.stop = cancel
	p.wg.Go(func() { p.every(ctx, time.Second, p.flush) })
	p.wg.Go(func() { p.housekeep(ctx) })
	if p.c.Federation {
		p.wg.Go(func() { p.federate(ctx) })
	}
	return nil
}

// Close ends the background work and writes what is still to be written. Waiting
// requests end empty.
func (p *Place) Close(ctx context.Context) error {
	if p.stop != nil {
		p.stop()
	}
	for _, s := range p.subs {
		s.Close()
	}
	p.subs = nil
	p.waiters.close()
	p.wg.Wait()
	return p.flush(ctx)
}

// Drain ends waiting requests, so that a hub can stop.
func (p *Place) Drain() { p.waiters.close() }

// every calls work at intervals; a failure is logged and tried again.
func (p *Place) every(ctx context.Context, interval time.Duration, work func(context.Context) error) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := work(ctx); err != nil && ctx.Err() == nil {
				p.d.Log.Warn("place: background work failed", "error", err)
			}
		}
	}
}

func (p *Place) now() time.Time { return p.d.Now().UTC() }

// PlaceID names this place in proofs and between places.
func (p *Place) PlaceID() string { return p.id }

// PlaceKey is the public key that goes with it.
func (p *Place) PlaceKey() string { return mmp.FormatPeerKey(p.public) }

// Policy is how agents prove themselves here.
func (p *Place) Policy() Auth { return p.c.Auth }

// write runs a transaction and gives storage trouble the protocol's name.
func (p *Place) write(ctx context.Context, fn func(*store.Tx) error) error {
	return p.storage(p.d.DB.Write(ctx, fn))
}

// writeSoft is write for what may be done again after a loss of power.
func (p *Place) writeSoft(ctx context.Context, fn func(*store.Tx) error) error {
	return p.storage(p.d.DB.WriteSoft(ctx, fn))
}

func (p *Place) read(ctx context.Context, fn func(*store.Tx) error) error {
	return p.storage(p.d.DB.Read(ctx, fn))
}

// storage turns whatever is not a refusal of ours into 503, and logs it once.
func (p *Place) storage(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if _, refused := errors.AsType[mmp.Error](err); refused {
		return err
	}
	if _, rejected := errors.AsType[*mmp.Rejection](err); rejected {
		return err
	}
	p.d.Log.Error("place: storage failed", "error", err)
	return fmt.Errorf("%w: %w", mmp.ErrStorage, err)
}

// shown refuses names that would not stay in their place on a screen.
func shown(fields ...string) error {
	for i := 0; i+1 < len(fields); i += 2 {
		if !mmp.ValidName(fields[i+1]) {
			return mmp.InvalidField(fields[i])
		}
	}
	return nil
}

// clean refuses texts that no database keeps alike.
func clean(fields ...string) error {
	for i := 0; i+1 < len(fields); i += 2 {
		for j := range len(fields[i+1]) {
			if fields[i+1][j] == 0 {
				return mmp.InvalidField(fields[i])
			}
		}
	}
	return nil
}

package room

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"parley/internal/lease"
	"parley/internal/store"
	"parley/protocol/kibitz"
)

// Rooms is the rooms of one hub.
type Rooms struct {
	d       Deps
	hub     string
	keys    *keyServer
	auditor *auditor
	cluster *cluster

	// ctx ends when the hub stops; work counts everything that must end before
	// Shutdown returns.
	ctx  context.Context
	stop context.CancelFunc
	work sync.WaitGroup

	mu      sync.Mutex
	live    map[string]*room
	loading map[string]chan struct{}
	visits  map[string]*visit
	closing bool
}

var _ API = (*Rooms)(nil)

// New makes the rooms of a hub. Start them before the first request.
func New(d Deps) (*Rooms, error) {
	if d.DB == nil || d.Leases == nil || d.Bus == nil || d.Trail == nil {
		return nil, errors.New("rooms need a store, leases, a bus and a trail")
	}
	d.defaults()
	ctx, stop := context.WithCancel(context.Background())
	e := &Rooms{
		d: d, hub: d.Leases.ID(), keys: newKeyServer(d.Fetch), auditor: newAuditor(d.Trail), ctx: ctx, stop: stop,
		live: map[string]*room{}, loading: map[string]chan struct{}{}, visits: map[string]*visit{},
	}
	e.cluster = newCluster(e)
	return e, nil
}

// Start writes notes and listens to other hubs, until Shutdown.
func (e *Rooms) Start(context.Context) error {
	if err := e.cluster.listen(); err != nil {
		return err
	}
	e.work.Go(e.auditor.loop)
	return nil
}

// find gives the live room, loading it if need be. The error is a
// *lease.HeldError when another hub has it.
func (e *Rooms) find(ctx context.Context, id string) (*room, error) {
	for {
		e.mu.Lock()
		if e.closing {
			e.mu.Unlock()
			return nil, ErrUnavailable
		}
		if r := e.live[id]; r != nil {
			e.mu.Unlock()
			return r, nil
		}
		wait, others := e.loading[id]
		if !others {
			wait = make(chan struct{})
			e.loading[id] = wait
		}
		e.mu.Unlock()
		if !others {
			r, err := e.take(context.WithoutCancel(ctx), id)
			e.mu.Lock()
			delete(e.loading, id)
			e.mu.Unlock()
			close(wait)
			return r, err
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// take acquires the room and starts its goroutine.
func (e *Rooms) take(ctx context.Context, id string) (*room, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	if err := e.exists(ctx, id); err != nil {
		return nil, err // nobody leases what is not there
	}
	l, err := e.d.Leases.Acquire(ctx, leaseName(id))
	if err != nil {
		return nil, err
	}
	rec, err := e.loadRoom(ctx, id)
	if err != nil {
		return nil, errors.Join(err, l.Release(ctx))
	}
	r := newRoom(e, l, rec)
	r.rev = uint64(l.Epoch()) << 20 // rises with every owner
	if err := e.auditor.begin(ctx, r); err != nil {
		r.timer.Stop()
		return nil, errors.Join(err, l.Release(ctx))
	}
	if err := e.cluster.own(r); err != nil {
		r.timer.Stop()
		return nil, errors.Join(err, l.Release(ctx))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closing {
		r.timer.Stop()
		e.cluster.disown(r)
		return nil, errors.Join(ErrUnavailable, l.Release(ctx))
	}
	e.live[id] = r
	e.work.Add(1)
	go r.loop()
	return r, nil
}

func (e *Rooms) exists(ctx context.Context, id string) error {
	return e.d.DB.Read(ctx, func(tx *store.Tx) error {
		var one int
		err := tx.QueryRow(`SELECT 1 FROM rooms WHERE id = ?`, id).Scan(&one)
		if errors.Is(err, sql.ErrNoRows) {
			return errUnknownRoom
		}
		return err
	})
}

// ended is a room's goroutine saying goodbye.
func (e *Rooms) ended(r *room) {
	e.mu.Lock()
	if e.live[r.id] == r {
		delete(e.live, r.id)
	}
	e.mu.Unlock()
	e.cluster.disown(r)
	e.auditor.end(r)
	if r.ending == endLost {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), writeTime)
	defer cancel()
	if err := r.lease.Release(ctx); err != nil {
		e.d.Log.Warn("a room's lease cannot be given back", "room", r.id, "error", err)
	}
}

// on runs a function on the goroutine of a room of this hub and waits for it.
func (r *room) on(ctx context.Context, f func()) error {
	done := make(chan struct{})
	run := func() {
		if r.fenced() {
			return // and ends: the caller asks the next owner
		}
		f()
		r.flush() // the answer must not overtake what was told to others
		close(done)
	}
	select {
	case r.mail <- job{do: run}:
	case <-r.gone:
		return errEnded
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-done:
		return nil
	case <-r.gone:
		select {
		case <-done:
			return nil
		default:
			return errEnded
		}
	case <-ctx.Done():
		return ctx.Err()
	}
}

// askTries is how often a call looks for a room that is changing its owner.
const askTries = 20

// ask has a call answered here or by the hub that has the room.
func (e *Rooms) ask(ctx context.Context, id string, c *call) (any, error) {
	for try := 0; ; try++ {
		answer, err := e.askOnce(ctx, id, c)
		if !errors.Is(err, errEnded) || try == askTries {
			if errors.Is(err, errEnded) {
				err = ErrUnavailable
			}
			return answer, err
		}
		select {
		case <-time.After(250 * time.Millisecond):
		case <-ctx.Done():
			return nil, ErrUnavailable
		}
	}
}

func (e *Rooms) askOnce(ctx context.Context, id string, c *call) (answer any, err error) {
	r, err := e.find(ctx, id)
	if held, ok := errors.AsType[*lease.HeldError](err); ok {
		return e.cluster.ask(ctx, id, held.Owner, c)
	}
	if err != nil {
		return nil, err
	}
	var result error
	if err := r.on(ctx, func() { answer, result = r.do(c) }); err != nil {
		return nil, err
	}
	return answer, result
}

// Stats are figures of this hub.
func (e *Rooms) Stats() Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	return Stats{Rooms: len(e.live), Connections: len(e.visits), Members: e.seatedCount()}
}

func (e *Rooms) seatedCount() (n int) {
	for _, v := range e.visits {
		if v.participant() != "" {
			n++
		}
	}
	return n
}

// Shutdown ends every room: connections are closed with 1001, presences stay in
// the store and may be resumed with whoever has the room next.
func (e *Rooms) Shutdown(ctx context.Context) error {
	e.mu.Lock()
	already := e.closing
	e.closing = true
	var all []*room
	for _, r := range e.live {
		all = append(all, r)
	}
	visits := make([]*visit, 0, len(e.visits))
	for _, v := range e.visits {
		visits = append(visits, v)
	}
	e.mu.Unlock()
	if already {
		return nil
	}
	for _, r := range all {
		r.stop()
	}
	for _, r := range all {
		<-r.gone
	}
	for _, v := range visits {
		v.link.Close(kibitz.CloseGoingAway, "the hub is leaving")
	}
	e.cluster.close()
	e.stop()
	close(e.auditor.quit)
	e.work.Wait()
	return nil
}

package room

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"sync"

	"parley.internal/internal/lease"
	"parley.internal/internal/owner"
	"parley.internal/internal/room/vouch"
	"parley.internal/internal/store"
	"parley.internal/protocol/kibitz"
)

// Rooms is the rooms of one hub.
type Rooms struct {
	d       Deps
	hub     string
	keys    *vouch.Keys
	auditor *auditor
	cluster *cluster

	// ctx ends when the hub stops; work counts everything that must end before
	// Shutdown returns.
	ctx  context.Context
	stop context.CancelFunc
	work sync.WaitGroup

	rooms *owner.Things[*room, question, answer]

	mu          sync.Mutex
	connections map[string]*connection
	closing     bool
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
		d: d, hub: d.Leases.ID(), keys: vouch.NewKeys(d.Fetch), auditor: newAuditor(d.Trail), ctx: ctx, stop: stop,
		connections: map[string]*connection{},
	}
	e.rooms = e.newThings()
	e.cluster = newCluster(e)
	return e, nil
}

// Start writes notes and listens to other hubs, until Shutdown.
func (e *Rooms) Start(context.Context) error {
	if err := errors.Join(e.cluster.listen(), e.rooms.Listen()); err != nil {
		return err
	}
	e.work.Go(e.auditor.loop)
	return nil
}

// load brings a room to life that nobody has.
func (e *Rooms) load(ctx context.Context, id string, l *lease.Lease) (*room, error) {
	rec, err := e.loadRoom(ctx, id)
	if err != nil {
		return nil, err
	}
	r := newRoom(e, l, rec)
	r.rev = uint64(l.Epoch()) << 20 // rises with every owner
	err = e.auditor.begin(ctx, r)
	if err == nil {
		err = e.cluster.own(r)
	}
	if err != nil {
		r.timer.Stop()
		return nil, err
	}
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
	e.rooms.Leaving(r.id, r)
	e.cluster.disown(r)
	e.auditor.end(r)
	if r.ending == endLost {
		e.rooms.Remove(r.id, r)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), writeTime)
	defer cancel()
	if err := e.rooms.LetGo(ctx, r.id, r); err != nil {
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
		return owner.ErrGone
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
			return owner.ErrGone
		}
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Stats are figures of this hub.
func (e *Rooms) Stats() Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	return Stats{Rooms: e.rooms.Count(), Connections: len(e.connections), Members: e.seatedCount()}
}

func (e *Rooms) seatedCount() (n int) {
	for _, v := range e.connections {
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
	connections := slices.Collect(maps.Values(e.connections))
	e.mu.Unlock()
	if already {
		return nil
	}
	e.rooms.Refuse()
	all := e.rooms.All()
	for _, r := range all {
		r.stop()
	}
	for _, r := range all {
		<-r.gone
	}
	for _, v := range connections {
		v.link.Close(kibitz.CloseGoingAway, "the hub is leaving")
	}
	e.cluster.close()
	e.rooms.Close()
	e.stop()
	close(e.auditor.quit)
	e.work.Wait()
	return nil
}

package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"parley.internal/internal/fleet/call"
	"parley.internal/internal/fleet/telemetry"
	"parley.internal/internal/fleet/update"
	"parley.internal/internal/store"
	"parley.internal/protocol/kenny"
	"parley.internal/protocol/kenny/policy"
)

// Names of tools the hub itself knows about.
const (
	toolUpdate  = "agent_update"
	toolCollect = "telemetry_collect"
	toolScreen  = "screen_capture"
)

// Fleet is the machines of one hub.
type Fleet struct {
	d     Deps
	hub   string
	since time.Time
	stats *Stats

	// ctx ends when the hub has drained; work counts what must end before Close
	// returns.
	ctx  context.Context
	stop context.CancelFunc
	work sync.WaitGroup

	builtin *policy.Set
	rules   atomic.Pointer[ruleSet]

	programs *update.Programs
	updates  *update.Rollouts

	cluster  *cluster
	sessions *sessions
	arrivals *arrivals
	events   *telemetry.Events
	log      *call.Log
	ingest   *ingest
	past     *telemetry.Store

	mu       sync.RWMutex
	machines map[string]*machine
	folds    map[string]string // id in small letters → id
	running  map[string]*underway
	watchers map[*watcher]struct{}
	yes      map[yesKey]time.Time // S calls approved for a run
	closing  bool

	// started: somebody writes what is put into the queues. Without it, in a hub
	// opened for a single command, Close does.
	started   atomic.Bool
	closeOnce sync.Once
}

var _ API = (*Fleet)(nil)

// New makes the fleet of a hub. Start it before the first request.
func New(d Deps) (*Fleet, error) {
	if d.DB == nil || d.Bus == nil || d.Leases == nil || d.Audit == nil || d.Key == nil {
		return nil, errors.New("fleet needs a store, a bus, leases, a trail and a key")
	}
	d.defaults()
	past, err := telemetry.NewStore(d.DB)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	f := &Fleet{
		d: d, hub: d.Leases.ID(), since: time.Now(), stats: newStats(), ctx: ctx, stop: stop, builtin: policy.Builtin(), past: past,
		machines: map[string]*machine{}, folds: map[string]string{}, running: map[string]*underway{}, watchers: map[*watcher]struct{}{},
		yes: map[yesKey]time.Time{},
	}
	f.cluster = &cluster{f: f}
	f.sessions = f.newSessions()
	f.arrivals = &arrivals{f: f}
	f.events = telemetry.NewEvents(telemetry.EventDeps{DB: d.DB, Log: d.Log, Dropped: f.stats.drop, Written: func(machine string) {
		f.tell(Change{Kind: "event", Machine: machine})
	}})
	f.log = call.NewLog(call.LogDeps{DB: d.DB, Audit: d.Audit, Log: d.Log, Dropped: f.stats.drop, Written: func(e call.Entry) {
		f.tell(Change{Kind: "call", Machine: e.Machine, CallID: e.CallID, State: e.State})
	}})
	f.ingest = newIngest(f)
	f.programs = update.NewPrograms(update.ProgramDeps{DB: d.DB, Audit: d.Audit, Own: d.Own, ReleaseKeys: d.ReleaseKeys, Report: f.report})
	f.updates = update.NewRollouts(update.Deps{
		DB: d.DB, Audit: d.Audit, Leases: d.Leases, Programs: f.programs, Machines: updated{f}, Silence: d.Limits.UpdateSilence, Context: ctx, Go: f.work.Go, Report: f.report,
	})
	f.rules.Store(&ruleSet{set: f.builtin})
	return f, nil
}

// Load reads rules and machines; enough to look at them without serving.
func (f *Fleet) Load(ctx context.Context) error {
	if err := f.loadRules(ctx); err != nil {
		return err
	}
	return f.loadMachines(ctx)
}

// Start reads what is known, takes up what a former life left, and works until
// Close.
func (f *Fleet) Start(ctx context.Context) error {
	if err := f.Load(ctx); err != nil {
		return err
	}
	if err := errors.Join(f.cluster.listen(), f.sessions.Listen()); err != nil {
		return err
	}
	if err := f.recover(ctx); err != nil {
		return err
	}
	f.started.Store(true)
	f.events.Start()
	f.work.Go(func() { f.events.Run(f.ctx) })
	f.log.Start()
	f.work.Go(func() { f.log.Run(f.ctx) })
	f.ingest.start()
	f.work.Go(f.sweep)
	f.work.Go(f.prune)
	f.d.Log.Info("machines are served", "server_public_key", f.PublicKey(), "machines", len(f.machines))
	return nil
}

// Quiesce takes no new calls and lets those under way finish for a while. The face
// closes the connections after it.
func (f *Fleet) Quiesce(ctx context.Context) {
	f.mu.Lock()
	f.closing = true
	f.mu.Unlock()
	f.drainCalls(ctx)
}

// Close ends the work. Connections end before: they are the face's.
func (f *Fleet) Close(ctx context.Context) error {
	f.Quiesce(ctx)
	f.stop()
	f.cluster.close()
	f.sessions.Close()
	f.endWatchers()
	f.work.Wait()
	f.closeOnce.Do(func() {
		if !f.started.Load() {
			f.events.Run(f.ctx)
			f.log.Run(f.ctx)
		}
		f.past.Close()
	})
	return nil
}

// PublicKey is the key machines pin, as it is exchanged.
func (f *Fleet) PublicKey() string { return kenny.FormatPublicKey(publicOf(f.d.Key)) }

// find gives a machine that was not removed, or nil.
func (f *Fleet) find(id string) *machine {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.machines[id]
}

// all lists the machines in no order.
func (f *Fleet) all() []*machine {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return slices.Collect(maps.Values(f.machines))
}

func (f *Fleet) loadMachines(ctx context.Context) error {
	var all map[string]*record
	err := f.d.DB.Read(ctx, func(tx *store.Tx) (err error) {
		all, err = readRecords(tx, `removed_at = 0`)
		return err
	})
	if err != nil {
		return fmt.Errorf("reading the machines: %w", err)
	}
	for _, r := range all {
		f.put(*r)
	}
	return nil
}

// put makes a row known, or forgets a removed machine, and returns it.
func (f *Fleet) put(r record) *machine {
	f.mu.Lock()
	m := f.machines[r.id]
	switch {
	case r.removed && m != nil:
		delete(f.machines, r.id)
		delete(f.folds, strings.ToLower(r.id))
	case !r.removed && m == nil:
		m = &machine{id: r.id}
		f.machines[r.id] = m
		f.folds[strings.ToLower(r.id)] = r.id
	}
	f.mu.Unlock()
	if m != nil {
		m.replace(r)
	}
	return m
}

// reload reads one row again and acts on what changed: a removed machine or a
// revoked key ends its connection.
func (f *Fleet) reload(ctx context.Context, id string) error {
	var all map[string]*record
	err := f.d.DB.Read(ctx, func(tx *store.Tx) (err error) {
		all, err = readRecords(tx, `id = ?`, id)
		return err
	})
	if err != nil {
		return err
	}
	if r := all[id]; r != nil {
		f.apply(*r)
	}
	return nil
}

// apply takes a row over and ends a connection it does not allow any more.
func (f *Fleet) apply(r record) {
	m := f.put(r)
	if m == nil {
		return
	}
	s := m.current()
	switch {
	case s == nil:
	case r.removed:
		s.close(kenny.CloseBadFrames, "machine removed")
	case s.key != "" && !r.allows(s.key, time.Now()):
		s.close(kenny.CloseUnauthorized, "the key was revoked")
	}
	f.tell(Change{Kind: "machine", Machine: m.id})
}

// allows reports whether a key still counts.
func (r *record) allows(key string, now time.Time) bool {
	for _, k := range r.keys {
		if k.text == key {
			return k.valid(now)
		}
	}
	return false
}

// Stats counts what this hub did, for metrics.
func (f *Fleet) Stats() *Stats { return f.stats }

// Presences counts machines by presence.
func (f *Fleet) Presences() map[Presence]int {
	now := time.Now()
	counts := map[Presence]int{Online: 0, Off: 0, Reconnecting: 0, Overdue: 0}
	for _, m := range f.all() {
		p, _ := m.presence(f.hub, f.d.Limits, now)
		counts[p]++
	}
	return counts
}

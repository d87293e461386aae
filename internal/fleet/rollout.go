package fleet

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"parley/internal/audit"
	"parley/internal/fit"
	"parley/internal/identity"
	"parley/internal/lease"
	"parley/internal/store"
)

// RolloutState is where a roll-out stands.
type RolloutState string

// The states of a roll-out.
const (
	RolloutRunning   RolloutState = "running"
	RolloutPaused    RolloutState = "paused"
	RolloutStopped   RolloutState = "stopped"
	RolloutCancelled RolloutState = "cancelled"
	RolloutDone      RolloutState = "done"
)

// rolloutActions are what the trail calls a roll-out that has come to a state.
var rolloutActions = map[RolloutState]audit.Action{
	RolloutRunning: audit.FleetRolloutRunning, RolloutPaused: audit.FleetRolloutPaused, RolloutStopped: audit.FleetRolloutStopped,
	RolloutCancelled: audit.FleetRolloutCancelled, RolloutDone: audit.FleetRolloutDone,
}

// Rollout updates many machines in waves of one, ten per cent, and the rest.
type Rollout struct {
	ID       string           `json:"id"`
	Version  string           `json:"version"`
	State    RolloutState     `json:"state"`
	Wave     int              `json:"wave"`
	Reason   string           `json:"reason,omitempty"`
	By       string           `json:"by"`
	Created  time.Time        `json:"created_at"`
	Machines []RolloutMachine `json:"machines"`
}

// RolloutMachine is one machine's share.
type RolloutMachine struct {
	ID    string      `json:"agent_id"`
	Wave  int         `json:"wave"`
	State UpdateState `json:"state"`
	Error string      `json:"error,omitempty"`
	row   string
}

// RolloutRequest starts a roll-out.
type RolloutRequest struct {
	Machines []string
	Tag      string
	All      bool
	// Version is that of the binaries; empty is the newest of each platform.
	Version string
}

// idSet is a set of machines.
type idSet struct {
	mu  sync.Mutex
	ids map[string]struct{}
}

func (s *idSet) add(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ids == nil {
		s.ids = map[string]struct{}{}
	}
	s.ids[id] = struct{}{}
}

func (s *idSet) remove(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.ids, id)
}

func (s *idSet) has(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.ids[id]
	return ok
}

func (s *idSet) empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.ids) == 0
}

const (
	// failShare is how much of a wave may fail before the roll-out stops.
	failShare = 0.05
	// rolloutLook is how often a roll-out looks at its machines.
	rolloutLook = time.Second
	// rolloutParallel bounds the updates of a wave under way at a time.
	rolloutParallel = 8
)

// StartRollout updates many machines in waves: one, a tenth, the rest.
func (f *Fleet) StartRollout(ctx context.Context, who identity.Actor, req RolloutRequest) (Rollout, error) {
	if err := may(who, identity.FleetAdmin); err != nil {
		return Rollout{}, err
	}
	targets, refusal := f.choice(who, req.Machines, req.Tag, req.All)
	if refusal != nil {
		return Rollout{}, refusal
	}
	list, err := f.binaries(ctx)
	if err != nil {
		return Rollout{}, err
	}
	if !slices.ContainsFunc(list, func(p program) bool { return req.Version == "" || p.version == req.Version }) {
		return Rollout{}, errorf(Unavailable, "this hub has no signed program of that version")
	}
	version := req.Version
	if version == "" {
		version = list[0].version
	}
	if err := f.agreed(ctx, f.updateCall(who, version, targets...)); err != nil {
		return Rollout{}, err
	}
	r := Rollout{ID: uuid.NewString(), Version: version, State: RolloutRunning, Wave: 1, By: who.String(), Created: time.Now()}
	err = f.d.DB.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`INSERT INTO fleet_rollouts (id, version, state, wave, reason, by_whom, caller, created_at) VALUES (?, ?, ?, 1, '', ?, ?, ?)`,
			r.ID, r.Version, string(r.State), fit.Storable(r.By), text(who), store.Micros(r.Created))
		if err != nil {
			return err
		}
		now := store.Micros(r.Created)
		for i, m := range targets {
			_, err := tx.Exec(`INSERT INTO fleet_updates (id, rollout, wave, machine, version, from_version, state, error, at, changed_at) VALUES (?, ?, ?, ?, ?, '', 'waiting', '', ?, ?)`,
				uuid.NewString(), r.ID, waveOf(i, len(targets)), m.id, r.Version, now, now)
			if err != nil {
				return err
			}
		}
		return f.d.Audit.AppendTx(tx, audit.Entry{Actor: r.By, Action: audit.FleetRolloutStarted, Target: r.ID, Detail: map[string]any{"version": r.Version, "machines": len(targets)}})
	})
	if err != nil {
		return Rollout{}, err
	}
	if err := f.resumeRollouts(ctx); err != nil {
		return Rollout{}, err
	}
	return f.rollout(ctx, r.ID)
}

// waveOf puts the i-th of n machines into its wave.
func waveOf(i, n int) int {
	switch {
	case i == 0:
		return 1
	case i < 1+max(1, n/10):
		return 2
	}
	return 3
}

// resumeRollouts runs the roll-outs nobody runs.
func (f *Fleet) resumeRollouts(ctx context.Context) error {
	var ids, open []string
	err := f.d.DB.Read(ctx, func(tx *store.Tx) error {
		ids, open = nil, nil
		collect := func(to *[]string) func(*sql.Rows) error {
			return func(row *sql.Rows) error {
				var s string
				err := row.Scan(&s)
				*to = append(*to, s)
				return err
			}
		}
		if err := tx.Each(collect(&ids), `SELECT id FROM fleet_rollouts WHERE state IN ('running', 'paused')`); err != nil {
			return err
		}
		return tx.Each(collect(&open), `SELECT DISTINCT machine FROM fleet_updates WHERE state IN ('waiting', 'staged')`)
	})
	if err != nil {
		return err
	}
	for _, id := range open {
		f.updating.add(id)
	}
	for _, id := range ids {
		if f.rolling.has(id) {
			continue
		}
		held, err := f.d.Leases.Acquire(ctx, "fleet.rollout."+id)
		if _, taken := errors.AsType[*lease.HeldError](err); taken {
			continue
		}
		if err != nil {
			return err
		}
		f.rolling.add(id)
		f.work.Go(func() { f.roll(id, held) })
	}
	return nil
}

// roll runs one roll-out until it ends or the hub does.
func (f *Fleet) roll(id string, held *lease.Lease) {
	defer f.rolling.remove(id)
	tick := time.NewTicker(rolloutLook)
	defer tick.Stop()
	for {
		over, err := f.rollOn(id, held)
		f.report("a roll-out cannot go on now", err)
		if over {
			f.report("a roll-out is not let go of", held.Release(context.WithoutCancel(f.ctx)))
			return
		}
		select {
		case <-tick.C:
		case <-held.Lost():
			return
		case <-f.ctx.Done():
			return
		}
	}
}

// rollOn does the next step and tells whether it was the last.
func (f *Fleet) rollOn(id string, held *lease.Lease) (over bool, err error) {
	r, err := f.rollout(f.ctx, id)
	if err != nil {
		return false, err
	}
	if r.State == RolloutPaused {
		return false, nil
	}
	if r.State != RolloutRunning {
		return true, nil
	}
	open, failed, size := r.waveState()
	switch {
	case size > 0 && float64(failed) > failShare*float64(size):
		return true, f.endRollout(held, r, RolloutStopped, "too many machines of a wave failed")
	case open > 0:
		return false, f.sendWave(r)
	case r.Wave >= 3:
		return true, f.endRollout(held, r, RolloutDone, "")
	}
	return false, f.d.DB.Write(f.ctx, func(tx *store.Tx) error {
		if err := held.Check(tx); err != nil {
			return err
		}
		_, err := tx.Exec(`UPDATE fleet_rollouts SET wave = ? WHERE id = ?`, r.Wave+1, id)
		return err
	})
}

// waveState counts the wave under way: how many are not through yet, how many
// failed, how many there are.
func (r Rollout) waveState() (open, failed, size int) {
	for _, m := range r.Machines {
		if m.Wave != r.Wave {
			continue
		}
		size++
		switch m.State {
		case UpdateWaiting, UpdateStaged:
			open++
		case UpdateFailed, UpdateRolledBack, UpdateSilent:
			failed++
		}
	}
	return open, failed, size
}

// sendWave sends the updates of the wave that were not sent yet.
func (f *Fleet) sendWave(r Rollout) error {
	caller, err := f.rolloutCaller(r.ID)
	if err != nil {
		return err
	}
	slots := make(chan struct{}, rolloutParallel)
	var wave sync.WaitGroup
	for _, m := range r.Machines {
		if m.Wave != r.Wave || m.State != UpdateWaiting {
			continue
		}
		slots <- struct{}{}
		wave.Go(func() {
			defer func() { <-slots }()
			f.updateOne(caller, r, m)
		})
	}
	wave.Wait()
	return nil
}

// updateOne sends one machine's update of a roll-out; a machine that has the
// version already, or another program, is skipped.
func (f *Fleet) updateOne(who identity.Actor, r Rollout, m RolloutMachine) {
	u := update{id: m.row, rollout: r.ID, machine: m.ID, wave: m.Wave}
	target := f.find(m.ID)
	switch {
	case target == nil:
		f.report("an update is not on record", f.moveUpdate(f.ctx, m.row, UpdateWaiting, UpdateSkipped, "the machine was removed"))
		return
	case target.meta().Version != "" && !target.meta().Ours:
		f.report("an update is not on record", f.moveUpdate(f.ctx, m.row, UpdateWaiting, UpdateSkipped, "it runs another program than Parley's endpoint"))
		return
	case target.meta().Version == r.Version:
		f.report("an update is not on record", f.moveUpdate(f.ctx, m.row, UpdateWaiting, UpdateSkipped, "it has this version"))
		return
	}
	f.updating.add(m.ID)
	if _, err := f.update(f.ctx, who, target, r.Version, u); err != nil && f.ctx.Err() == nil {
		f.report("an update is not on record", f.moveUpdate(f.ctx, m.row, UpdateWaiting, UpdateFailed, fit.Cut(fit.Storable(err.Error()), 1000)))
	}
}

func (f *Fleet) rolloutCaller(id string) (identity.Actor, error) {
	var detail string
	err := f.d.DB.Read(f.ctx, func(tx *store.Tx) error {
		return tx.QueryRow(`SELECT caller FROM fleet_rollouts WHERE id = ?`, id).Scan(&detail)
	})
	if err != nil {
		return identity.Actor{}, err
	}
	who, err := callerOf(detail)
	return who.CarriedOut(), err
}

func (f *Fleet) endRollout(held *lease.Lease, r Rollout, state RolloutState, reason string) error {
	return f.d.DB.Write(f.ctx, func(tx *store.Tx) error {
		if err := held.Check(tx); err != nil {
			return err
		}
		if _, err := tx.Exec(`UPDATE fleet_rollouts SET state = ?, reason = ? WHERE id = ? AND state = 'running'`, string(state), reason, r.ID); err != nil {
			return err
		}
		return f.d.Audit.AppendTx(tx, audit.Entry{Actor: "hub", Action: rolloutActions[state], Target: r.ID, Detail: map[string]any{"reason": reason}})
	})
}

// Rollouts lists roll-outs, newest first.
func (f *Fleet) Rollouts(ctx context.Context, who identity.Actor) ([]Rollout, error) {
	if err := may(who, identity.FleetRead); err != nil {
		return nil, err
	}
	return f.readRollouts(ctx, `1 = 1`)
}

func (f *Fleet) rollout(ctx context.Context, id string) (Rollout, error) {
	list, err := f.readRollouts(ctx, `id = ?`, id)
	if err == nil && len(list) == 0 {
		err = errorf(NotFound, "there is no roll-out %q", quotable(id))
	}
	if err != nil {
		return Rollout{}, err
	}
	return list[0], nil
}

func (f *Fleet) readRollouts(ctx context.Context, where string, args ...any) (list []Rollout, err error) {
	err = f.d.DB.Read(ctx, func(tx *store.Tx) error {
		list = []Rollout{}
		err := tx.Each(func(row *sql.Rows) error {
			var r Rollout
			var created int64
			err := row.Scan(&r.ID, &r.Version, &r.State, &r.Wave, &r.Reason, &r.By, &created)
			r.Created, r.Machines = store.Time(created), []RolloutMachine{}
			list = append(list, r)
			return err
		}, `SELECT id, version, state, wave, reason, by_whom, created_at FROM fleet_rollouts WHERE `+where+` ORDER BY created_at DESC LIMIT 100`, args...)
		if err != nil {
			return err
		}
		for i := range list {
			err := tx.Each(func(row *sql.Rows) error {
				var m RolloutMachine
				err := row.Scan(&m.row, &m.ID, &m.Wave, &m.State, &m.Error)
				list[i].Machines = append(list[i].Machines, m)
				return err
			}, `SELECT id, machine, wave, state, error FROM fleet_updates WHERE rollout = ? ORDER BY wave, machine`, list[i].ID)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return list, err
}

// SteerRollout pauses, resumes or cancels a roll-out.
func (f *Fleet) SteerRollout(ctx context.Context, who identity.Actor, id string, to RolloutState) (Rollout, error) {
	if err := may(who, identity.FleetAdmin); err != nil {
		return Rollout{}, err
	}
	from := map[RolloutState][]any{
		RolloutPaused: {"running", "running"}, RolloutRunning: {"paused", "stopped"}, RolloutCancelled: {"running", "paused"},
	}[to]
	if from == nil {
		return Rollout{}, errorf(BadArgs, "a roll-out can be paused, running (resumed) or cancelled")
	}
	r, err := f.rollout(ctx, id)
	if err != nil || r.State == to {
		return r, err
	}
	var n int64
	err = f.d.DB.Write(ctx, func(tx *store.Tx) (err error) {
		n, err = tx.Exec(`UPDATE fleet_rollouts SET state = ?, reason = '' WHERE id = ? AND state IN (?, ?)`, string(to), id, from[0], from[1])
		if err != nil || n == 0 {
			return err
		}
		return f.d.Audit.AppendTx(tx, audit.Entry{Actor: who.String(), Action: rolloutActions[to], Target: id})
	})
	if err != nil {
		return Rollout{}, err
	}
	if n == 0 {
		return r, errorf(Conflict, "a roll-out that is %s cannot become %s", r.State, to)
	}
	if err := f.resumeRollouts(ctx); err != nil {
		return Rollout{}, err
	}
	return f.rollout(ctx, id)
}

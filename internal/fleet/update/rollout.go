package update

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"parley.internal/internal/audit"
	"parley.internal/internal/fit"
	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/identity"
	"parley.internal/internal/lease"
	"parley.internal/internal/store"
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
	ID    string `json:"agent_id"`
	Wave  int    `json:"wave"`
	State State  `json:"state"`
	Error string `json:"error,omitempty"`
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

// Resume runs the roll-outs nobody runs.
func (s *Rollouts) Resume(ctx context.Context) error {
	var ids, open []string
	err := s.d.DB.Read(ctx, func(tx *store.Tx) error {
		ids, open = nil, nil
		if err := tx.Each(store.Into(&ids), `SELECT id FROM fleet_rollouts WHERE state IN ('running', 'paused')`); err != nil {
			return err
		}
		return tx.Each(store.Into(&open), `SELECT DISTINCT machine FROM fleet_updates WHERE state IN ('waiting', 'staged')`)
	})
	if err != nil {
		return err
	}
	for _, id := range open {
		s.updating.add(id)
	}
	for _, id := range ids {
		if s.rolling.has(id) {
			continue
		}
		held, err := s.d.Leases.Acquire(ctx, "fleet.rollout."+id)
		if _, taken := errors.AsType[*lease.HeldError](err); taken {
			continue
		}
		if err != nil {
			return err
		}
		s.rolling.add(id)
		s.d.Go(func() { s.roll(id, held) })
	}
	return nil
}

// roll runs one roll-out until it ends or the hub does.
func (s *Rollouts) roll(id string, held *lease.Lease) {
	defer s.rolling.remove(id)
	tick := time.NewTicker(rolloutLook)
	defer tick.Stop()
	for {
		over, err := s.rollOn(id, held)
		s.d.Report("a roll-out cannot go on now", err)
		if over {
			s.d.Report("a roll-out is not let go of", held.Release(context.WithoutCancel(s.d.Context)))
			return
		}
		select {
		case <-tick.C:
		case <-held.Lost():
			return
		case <-s.d.Context.Done():
			return
		}
	}
}

// rollOn does the next step and tells whether it was the last.
func (s *Rollouts) rollOn(id string, held *lease.Lease) (over bool, err error) {
	r, err := s.rollout(s.d.Context, id)
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
		return true, s.end(held, r, RolloutStopped, "too many machines of a wave failed")
	case open > 0:
		return false, s.sendWave(r)
	case r.Wave >= 3:
		return true, s.end(held, r, RolloutDone, "")
	}
	return false, s.d.DB.Write(s.d.Context, func(tx *store.Tx) error {
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
		case Waiting, Staged:
			open++
		case Failed, RolledBack, Silent:
			failed++
		}
	}
	return open, failed, size
}

// sendWave sends the updates of the wave that were not sent yet.
func (s *Rollouts) sendWave(r Rollout) error {
	caller, err := s.caller(r.ID)
	if err != nil {
		return err
	}
	slots := make(chan struct{}, rolloutParallel)
	var wave sync.WaitGroup
	for _, m := range r.Machines {
		if m.Wave != r.Wave || m.State != Waiting {
			continue
		}
		slots <- struct{}{}
		wave.Go(func() {
			defer func() { <-slots }()
			s.updateOne(caller, r, m)
		})
	}
	wave.Wait()
	return nil
}

// updateOne sends one machine's update of a roll-out; a machine that has the
// version already, or another program, is skipped.
func (s *Rollouts) updateOne(who identity.Actor, r Rollout, m RolloutMachine) {
	u := update{id: m.row, rollout: r.ID, machine: m.ID, wave: m.Wave}
	runs, there := s.d.Machines.Running(m.ID)
	switch {
	case !there:
		s.d.Report("an update is not on record", s.move(s.d.Context, m.row, Waiting, Skipped, "the machine was removed"))
		return
	case runs.Version != "" && !runs.Ours:
		s.d.Report("an update is not on record", s.move(s.d.Context, m.row, Waiting, Skipped, "it runs another program than Parley's endpoint"))
		return
	case runs.Version == r.Version:
		s.d.Report("an update is not on record", s.move(s.d.Context, m.row, Waiting, Skipped, "it has this version"))
		return
	}
	s.updating.add(m.ID)
	if _, err := s.send(s.d.Context, who, r.Version, u); err != nil && s.d.Context.Err() == nil {
		s.d.Report("an update is not on record", s.move(s.d.Context, m.row, Waiting, Failed, fit.Cut(fit.Storable(err.Error()), 1000)))
	}
}

func (s *Rollouts) caller(id string) (identity.Actor, error) {
	var detail string
	err := s.d.DB.Read(s.d.Context, func(tx *store.Tx) error {
		return tx.QueryRow(`SELECT caller FROM fleet_rollouts WHERE id = ?`, id).Scan(&detail)
	})
	if err != nil {
		return identity.Actor{}, err
	}
	var who identity.Actor
	err = json.Unmarshal([]byte(detail), &who)
	return who.CarriedOut(), err
}

func (s *Rollouts) end(held *lease.Lease, r Rollout, state RolloutState, reason string) error {
	return s.d.DB.Write(s.d.Context, func(tx *store.Tx) error {
		if err := held.Check(tx); err != nil {
			return err
		}
		if _, err := tx.Exec(`UPDATE fleet_rollouts SET state = ?, reason = ? WHERE id = ? AND state = 'running'`, string(state), reason, r.ID); err != nil {
			return err
		}
		return s.d.Audit.AppendTx(tx, audit.Entry{Actor: "hub", Action: rolloutActions[state], Target: r.ID, Detail: map[string]any{"reason": reason}})
	})
}

func (s *Rollouts) rollout(ctx context.Context, id string) (Rollout, error) {
	list, err := s.read(ctx, `id = ?`, id)
	if err == nil && len(list) == 0 {
		err = fault.Errorf(fault.NotFound, "there is no roll-out %q", fault.Quotable(id))
	}
	if err != nil {
		return Rollout{}, err
	}
	return list[0], nil
}

func (s *Rollouts) read(ctx context.Context, where string, args ...any) (list []Rollout, err error) {
	err = s.d.DB.Read(ctx, func(tx *store.Tx) error {
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

// Start updates many machines in waves: one, a tenth, the rest.
func (s *Rollouts) Start(ctx context.Context, who identity.Actor, version string, machines []string) (Rollout, error) {
	caller, err := json.Marshal(who)
	if err != nil {
		return Rollout{}, err
	}
	r := Rollout{ID: uuid.NewString(), Version: version, State: RolloutRunning, Wave: 1, By: who.String(), Created: time.Now()}
	err = s.d.DB.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`INSERT INTO fleet_rollouts (id, version, state, wave, reason, by_whom, caller, created_at) VALUES (?, ?, ?, 1, '', ?, ?, ?)`,
			r.ID, r.Version, string(r.State), fit.Storable(r.By), string(caller), store.Micros(r.Created))
		if err != nil {
			return err
		}
		now := store.Micros(r.Created)
		for i, machine := range machines {
			_, err := tx.Exec(`INSERT INTO fleet_updates (id, rollout, wave, machine, version, from_version, state, error, at, changed_at) VALUES (?, ?, ?, ?, ?, '', 'waiting', '', ?, ?)`,
				uuid.NewString(), r.ID, waveOf(i, len(machines)), machine, r.Version, now, now)
			if err != nil {
				return err
			}
		}
		return s.d.Audit.AppendTx(tx, audit.Entry{Actor: r.By, Action: audit.FleetRolloutStarted, Target: r.ID, Detail: map[string]any{"version": r.Version, "machines": len(machines)}})
	})
	if err != nil {
		return Rollout{}, err
	}
	if err := s.Resume(ctx); err != nil {
		return Rollout{}, err
	}
	return s.rollout(ctx, r.ID)
}

// Steer pauses, resumes or cancels a roll-out.
func (s *Rollouts) Steer(ctx context.Context, by, id string, to RolloutState) (Rollout, error) {
	from := map[RolloutState][]any{
		RolloutPaused: {"running", "running"}, RolloutRunning: {"paused", "stopped"}, RolloutCancelled: {"running", "paused"},
	}[to]
	if from == nil {
		return Rollout{}, fault.Errorf(fault.BadArgs, "a roll-out can be paused, running (resumed) or cancelled")
	}
	r, err := s.rollout(ctx, id)
	if err != nil || r.State == to {
		return r, err
	}
	var n int64
	err = s.d.DB.Write(ctx, func(tx *store.Tx) (err error) {
		n, err = tx.Exec(`UPDATE fleet_rollouts SET state = ?, reason = '' WHERE id = ? AND state IN (?, ?)`, string(to), id, from[0], from[1])
		if err != nil || n == 0 {
			return err
		}
		return s.d.Audit.AppendTx(tx, audit.Entry{Actor: by, Action: rolloutActions[to], Target: id})
	})
	if err != nil {
		return Rollout{}, err
	}
	if n == 0 {
		return r, fault.Errorf(fault.Conflict, "a roll-out that is %s cannot become %s", r.State, to)
	}
	if err := s.Resume(ctx); err != nil {
		return Rollout{}, err
	}
	return s.rollout(ctx, id)
}

// List is the roll-outs, newest first.
func (s *Rollouts) List(ctx context.Context) ([]Rollout, error) { return s.read(ctx, `1 = 1`) }

package update

import (
	"context"
	"database/sql"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"parley.internal/internal/audit"
	"parley.internal/internal/fit"
	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/identity"
	"parley.internal/internal/lease"
	"parley.internal/internal/store"
	"parley.internal/protocol/kenny"
	"parley.internal/protocol/rest"
)

// Updated is the answer of a single update.
type Updated = rest.Updated

// State is where an update stands.
type State string

// The states of one machine's update.
const (
	Waiting    State = "waiting"
	Staged     State = "staged"
	Connected  State = "connected"
	RolledBack State = "rolled_back"
	Silent     State = "silent"
	Failed     State = "failed"
	Skipped    State = "skipped"
)

// Machines is what updates need of the machines.
type Machines interface {
	// Running tells what a machine runs; false when there is no such machine.
	Running(machine string) (Running, bool)
	// Send has a machine download a program and stage it, in somebody's name.
	Send(ctx context.Context, who identity.Actor, machine string, b Binary) (jsontext.Value, error)
	// Note keeps how an update went among what happened around a machine.
	Note(machine string, level kenny.Level, message string, detail map[string]any)
}

// Running is the program a machine runs, as far as it said so.
type Running struct {
	Version, Platform string
	// Ours: it is Parley's endpoint.
	Ours bool
}

// Rollouts changes the programs on machines.
type Rollouts struct {
	d Deps
	// updating are machines whose update is not over; rolling the roll-outs this hub
	// runs.
	updating, rolling idSet
}

// Deps is what they are made from.
type Deps struct {
	DB       *store.DB
	Audit    audit.Recorder
	Leases   *lease.Leases
	Programs *Programs
	Machines Machines
	// Silence is how long a staged update may be unheard of.
	Silence time.Duration
	// Context ends with the hub; Go runs what must end before the hub has.
	Context context.Context
	Go      func(func())
	// Report tells of what has to wait.
	Report func(what string, err error)
}

// NewRollouts makes them; Resume takes up what a former life left.
func NewRollouts(d Deps) *Rollouts { return &Rollouts{d: d} }

// update is one machine's share of a change of version.
type update struct {
	id, rollout, machine string
	wave                 int
}

// One updates one machine. It returns when the machine has staged the program.
func (s *Rollouts) One(ctx context.Context, who identity.Actor, machine, version string) (Updated, error) {
	s.updating.add(machine)
	return s.send(ctx, who, version, update{id: uuid.NewString(), machine: machine, wave: 1})
}

// send sends one update and records what becomes of it.
func (s *Rollouts) send(ctx context.Context, who identity.Actor, version string, u update) (Updated, error) {
	b, err := s.ProgramFor(ctx, u.machine, version)
	if err != nil {
		return Updated{}, err
	}
	from, _ := s.d.Machines.Running(u.machine)
	// On record before it is sent: the machine may be back before the answer is.
	if err := s.put(ctx, u, b.Version, from.Version, Waiting, ""); err != nil {
		return Updated{}, err
	}
	result, err := s.d.Machines.Send(ctx, who, u.machine, b)
	state, problem := Staged, ""
	if err != nil {
		state, problem = Failed, fit.Cut(fit.Storable(err.Error()), 1000)
	}
	s.d.Report("the state of an update is not on record", s.move(context.WithoutCancel(ctx), u.id, Waiting, state, problem))
	if err != nil {
		return Updated{}, err
	}
	return Updated{OK: true, Version: b.Version, SHA256: b.SHA256, Result: result}, nil
}

// ProgramFor chooses the program for a machine: of a version, or the newest.
func (s *Rollouts) ProgramFor(ctx context.Context, machine, version string) (Binary, error) {
	runs, _ := s.d.Machines.Running(machine)
	if runs.Version != "" && !runs.Ours {
		return Binary{}, fault.Errorf(fault.Unsupported, "the machine %q runs another program than Parley's endpoint; it is updated by its own means", machine)
	}
	if runs.Platform == "" {
		return Binary{}, fault.Errorf(fault.Unavailable, "nobody knows yet what kind of machine %q is", machine)
	}
	return s.d.Programs.SignedFor(ctx, runs.Platform, version)
}

func (s *Rollouts) put(ctx context.Context, u update, version, from string, state State, problem string) error {
	now := store.Micros(time.Now())
	return s.d.DB.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`INSERT INTO fleet_updates (id, rollout, wave, machine, version, from_version, state, error, at, changed_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (id) DO UPDATE SET version = excluded.version, from_version = excluded.from_version, state = excluded.state, error = excluded.error, changed_at = excluded.changed_at`,
			u.id, u.rollout, u.wave, u.machine, version, from, string(state), problem, now, now)
		return err
	})
}

// move changes the state of an update that is still in an earlier one.
func (s *Rollouts) move(ctx context.Context, id string, from, to State, problem string) error {
	return s.d.DB.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE fleet_updates SET state = ?, error = ?, changed_at = ? WHERE id = ? AND state = ?`, string(to), problem, store.Micros(time.Now()), id, string(from))
		return err
	})
}

// Seen learns from the version a machine comes back with how its update went.
func (s *Rollouts) Seen(machine, version string) {
	if !s.updating.has(machine) {
		return
	}
	s.d.Go(func() {
		ctx, cancel := context.WithTimeout(s.d.Context, recordTime)
		defer cancel()
		s.d.Report("an update's end is not on record", s.cameBack(ctx, machine, version))
	})
}

// recordTime bounds writing down how updates went.
const recordTime = 10 * time.Second

// cameBack closes the open updates of a machine that is there again.
func (s *Rollouts) cameBack(ctx context.Context, id, version string) error {
	type open struct{ id, version, from string }
	var all []open
	err := s.d.DB.Write(ctx, func(tx *store.Tx) error {
		all = nil
		err := tx.Each(func(row *sql.Rows) error {
			var o open
			err := row.Scan(&o.id, &o.version, &o.from)
			all = append(all, o)
			return err
		}, `SELECT id, version, from_version FROM fleet_updates WHERE machine = ? AND state IN ('waiting', 'staged')`, id)
		if err != nil {
			return err
		}
		for _, o := range all {
			state := Connected
			if kenny.CompareVersions(version, o.version) != 0 {
				state = RolledBack
			}
			if _, err := tx.Exec(`UPDATE fleet_updates SET state = ?, changed_at = ? WHERE id = ?`, string(state), store.Micros(time.Now()), o.id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.updating.remove(id)
	for _, o := range all {
		level, message := kenny.LevelInfo, "the machine came back with version "+version
		if kenny.CompareVersions(version, o.version) != 0 {
			level, message = kenny.LevelWarn, "the machine came back with version "+version+" instead of "+o.version
		}
		s.d.Machines.Note(id, level, message, map[string]any{"from": o.from, "to": o.version})
	}
	return nil
}

// MarkSilent marks staged updates whose machine was not heard of since.
func (s *Rollouts) MarkSilent(ctx context.Context, now time.Time) error {
	if s.updating.empty() {
		return nil
	}
	return s.d.DB.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE fleet_updates SET state = 'silent', changed_at = ? WHERE state = 'staged' AND changed_at < ?`,
			store.Micros(now), store.Micros(now.Add(-s.d.Silence)))
		return err
	})
}

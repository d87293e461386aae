package fleet

import (
	"context"
	"database/sql"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"parley/internal/approval"
	"parley/internal/audit"
	"parley/internal/fit"
	"parley/internal/identity"
	"parley/internal/judge"
	"parley/internal/store"
	"parley/protocol/kenny"
)

// Updated is the answer of a single update.
type Updated struct {
	OK      bool           `json:"ok"`
	Version string         `json:"version"`
	SHA256  string         `json:"sha256"`
	Result  jsontext.Value `json:"result"`
}

// UpdateState is where an update stands.
type UpdateState string

// The states of one machine's update.
const (
	UpdateWaiting    UpdateState = "waiting"
	UpdateStaged     UpdateState = "staged"
	UpdateConnected  UpdateState = "connected"
	UpdateRolledBack UpdateState = "rolled_back"
	UpdateSilent     UpdateState = "silent"
	UpdateFailed     UpdateState = "failed"
	UpdateSkipped    UpdateState = "skipped"
)

// Update has one machine replace its endpoint by a newer one. It returns when the
// machine has staged it; whether it came back shows in the roll-outs.
func (f *Fleet) Update(ctx context.Context, who identity.Actor, id, version string) (Updated, error) {
	m, refusal := f.seen(who, identity.FleetAdmin, id)
	if refusal != nil {
		return Updated{}, refusal
	}
	b, refusal := f.binaryFor(ctx, m, version)
	if refusal != nil {
		return Updated{}, refusal
	}
	if err := f.agreed(ctx, f.updateCall(who, b.Version, m)); err != nil {
		return Updated{}, err
	}
	u := update{id: uuid.NewString(), machine: id, wave: 1}
	f.updating.add(id)
	// A roll-out to one machine: the hub chooses what is sent, and it is signed.
	return f.update(ctx, who.CarriedOut(), m, version, u)
}

// updateCall is a change of version as the judge and people see it. The hub carries it
// out, so that the address each machine downloads from is not in the question.
func (f *Fleet) updateCall(who identity.Actor, version string, targets ...*machine) *prepared {
	tool, _ := kenny.Lookup(toolUpdate)
	wire := jsontext.Value(text(map[string]string{"version": version}))
	digest, _ := audit.Digest(wire) // ours: it can be read
	shares := make([]*prepared, len(targets))
	for i, m := range targets {
		shares[i] = &prepared{id: uuid.NewString(), who: who, tool: tool, m: m, machine: m.id, wire: wire, digest: digest, created: time.Now()}
	}
	if len(shares) == 1 {
		return shares[0]
	}
	return &prepared{id: uuid.NewString(), who: who, tool: tool, wire: wire, digest: digest, created: time.Now(), fan: &fan{f: f, who: who, targets: targets, shares: shares}}
}

// agreed waits for a person where the judge wants one; nil is a yes. A no, and giving
// up, is on record like that to any other call.
func (f *Fleet) agreed(ctx context.Context, p *prepared) error {
	v := f.judged(p)
	if v.Action != judge.Ask {
		return nil
	}
	if f.d.Inbox == nil {
		return errorf(Denied, "%s needs a person's approval and this hub has no inbox", p.tool.Name)
	}
	pending, err := f.d.Inbox.Ask(ctx, f.asked(p, v))
	if err != nil {
		return errorf(Denied, "nobody could be asked: %w", err)
	}
	out, err := pending.Wait(ctx)
	switch {
	case err != nil:
		f.withdraw(pending.ID())
	case out.State == approval.StateExpired:
		err = errorf(ApprovalTimeout, "nobody approved it in time; nothing ran")
	}
	if err = f.decided(p, pending.ID(), Decision{Approved: out.Approved(), By: out.By, How: "inbox", Reason: out.Reason}, err); err != nil {
		f.log.declined(p, err)
	}
	return err
}

// update is one machine's share of a change of version.
type update struct {
	id, rollout, machine string
	wave                 int
}

// update sends one update and records what becomes of it.
func (f *Fleet) update(ctx context.Context, who identity.Actor, m *machine, version string, u update) (Updated, error) {
	b, refusal := f.binaryFor(ctx, m, version)
	if refusal != nil {
		return Updated{}, refusal
	}
	from := m.meta().Version
	address, err := f.downloadLink(ctx, m.id, b)
	if err != nil {
		return Updated{}, err
	}
	// On record before it is sent: the machine may be back before the answer is.
	if err := f.putUpdate(ctx, u, b.Version, from, UpdateWaiting, ""); err != nil {
		return Updated{}, err
	}
	args := jsontext.Value(text(map[string]string{"version": b.Version, "url": address, "sha256": b.SHA256}))
	done, err := f.Call(ctx, who, CallRequest{Machine: m.id, Tool: toolUpdate, Args: args})
	state, problem := UpdateStaged, ""
	if err != nil {
		state, problem = UpdateFailed, fit.Cut(fit.Storable(err.Error()), 1000)
	}
	if err := f.moveUpdate(context.WithoutCancel(ctx), u.id, UpdateWaiting, state, problem); err != nil {
		f.d.Log.Warn("the state of an update is not on record", "machine", m.id, "error", err)
	}
	if err != nil {
		return Updated{}, err
	}
	return Updated{OK: true, Version: b.Version, SHA256: b.SHA256, Result: done.Result}, nil
}

// binaryFor chooses the program for a machine: of a version, or the newest.
func (f *Fleet) binaryFor(ctx context.Context, m *machine, version string) (Binary, *Error) {
	if meta := m.meta(); meta.Version != "" && !meta.Ours {
		return Binary{}, errorf(Unsupported, "the machine %q runs another program than Parley's endpoint; it is updated by its own means", m.id)
	}
	platform, ok := platformOf(m.meta())
	if !ok {
		return Binary{}, errorf(Unavailable, "nobody knows yet what kind of machine %q is", m.id)
	}
	list, err := f.binaries(ctx)
	if err != nil {
		return Binary{}, errorf(Internal, "%w", err)
	}
	for _, p := range list {
		if p.platform == platform && (version == "" || p.version == version) {
			return p.view(), nil
		}
	}
	return Binary{}, errorf(Unavailable, "this hub has no signed program for %s", platform)
}

// platformOf is a machine's platform as binaries name it.
func platformOf(meta Meta) (string, bool) {
	os := map[kenny.OS]string{kenny.Linux: "linux", kenny.Windows: "windows", kenny.MacOS: "darwin"}[meta.OS]
	return os + "-" + meta.Arch, os != "" && meta.Arch != ""
}

func (f *Fleet) putUpdate(ctx context.Context, u update, version, from string, state UpdateState, problem string) error {
	now := store.Micros(time.Now())
	return f.d.DB.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`INSERT INTO fleet_updates (id, rollout, wave, machine, version, from_version, state, error, at, changed_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (id) DO UPDATE SET version = excluded.version, from_version = excluded.from_version, state = excluded.state, error = excluded.error, changed_at = excluded.changed_at`,
			u.id, u.rollout, u.wave, u.machine, version, from, string(state), problem, now, now)
		return err
	})
}

// moveUpdate changes the state of an update that is still in an earlier one.
func (f *Fleet) moveUpdate(ctx context.Context, id string, from, to UpdateState, problem string) error {
	return f.d.DB.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE fleet_updates SET state = ?, error = ?, changed_at = ? WHERE id = ? AND state = ?`, string(to), problem, store.Micros(time.Now()), id, string(from))
		return err
	})
}

// updateSeen learns from the version a machine comes back with how its update went.
func (f *Fleet) updateSeen(s *Session) {
	if !f.updating.has(s.m.id) {
		return
	}
	f.work.Go(func() {
		ctx, cancel := context.WithTimeout(f.ctx, writeTime)
		defer cancel()
		f.report("an update's end is not on record", f.settleUpdates(ctx, s.m.id, s.m.meta().Version))
	})
}

func (f *Fleet) settleUpdates(ctx context.Context, id, version string) error {
	type open struct{ id, version, from string }
	var all []open
	err := f.d.DB.Write(ctx, func(tx *store.Tx) error {
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
			state := UpdateConnected
			if kenny.CompareVersions(version, o.version) != 0 {
				state = UpdateRolledBack
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
	f.updating.remove(id)
	for _, o := range all {
		level, message := kenny.LevelInfo, "the machine came back with version "+version
		if kenny.CompareVersions(version, o.version) != 0 {
			level, message = kenny.LevelWarn, "the machine came back with version "+version+" instead of "+o.version
		}
		f.events.hub(id, level, "update", message, map[string]any{"from": o.from, "to": o.version})
	}
	return nil
}

// silentUpdates marks staged updates whose machine was not heard of since.
func (f *Fleet) silentUpdates(ctx context.Context, now time.Time) error {
	if f.updating.empty() {
		return nil
	}
	return f.d.DB.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE fleet_updates SET state = 'silent', changed_at = ? WHERE state = 'staged' AND changed_at < ?`,
			store.Micros(now), store.Micros(now.Add(-f.d.Limits.UpdateSilence)))
		return err
	})
}

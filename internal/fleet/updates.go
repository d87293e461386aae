package fleet

import (
	"context"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"parley.internal/internal/approval"
	"parley.internal/internal/audit"
	"parley.internal/internal/fleet/call"
	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/fleet/update"
	"parley.internal/internal/identity"
	"parley.internal/internal/judge"
	"parley.internal/protocol/kenny"
)

// Binaries lists the signed programs.
func (f *Fleet) Binaries(ctx context.Context, who identity.Actor) ([]update.Binary, error) {
	if err := may(who, identity.FleetRead); err != nil {
		return nil, err
	}
	list, err := f.programs.Signed(ctx)
	out := make([]update.Binary, len(list))
	for i, p := range list {
		out[i] = p.View()
	}
	return out, err
}

// AddBinary takes a signed program in.
func (f *Fleet) AddBinary(ctx context.Context, who identity.Actor, up update.Upload) (update.Binary, error) {
	if err := may(who, identity.FleetAdmin); err != nil {
		return update.Binary{}, err
	}
	return f.programs.Add(ctx, who.String(), up)
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
		return fault.Errorf(fault.Denied, "%s needs a person's approval and this hub has no inbox", p.tool.Name)
	}
	pending, err := f.d.Inbox.Ask(ctx, f.asked(p, v))
	if err != nil {
		return fault.Errorf(fault.Denied, "nobody could be asked: %w", err)
	}
	out, err := pending.Wait(ctx)
	switch {
	case err != nil:
		f.withdraw(pending.ID())
	case out.State == approval.StateExpired:
		err = fault.Errorf(fault.ApprovalTimeout, "nobody approved it in time; nothing ran")
	}
	if err = f.decided(p, pending.ID(), call.Decision{Approved: out.Approved(), By: out.By, How: "inbox", Reason: out.Reason}, err); err != nil {
		f.logDeclined(p, err)
	}
	return err
}

// platformOf is a machine's platform as binaries name it; empty while nobody knows.
func platformOf(meta Meta) string {
	os := map[kenny.OS]string{kenny.Linux: "linux", kenny.Windows: "windows", kenny.MacOS: "darwin"}[meta.OS]
	if os == "" || meta.Arch == "" {
		return ""
	}
	return os + "-" + meta.Arch
}

// Update has one machine replace its endpoint by a newer one. It returns when the
// machine has staged it; whether it came back shows in the roll-outs.
func (f *Fleet) Update(ctx context.Context, who identity.Actor, id, version string) (update.Updated, error) {
	m, refusal := f.seen(who, identity.FleetAdmin, id)
	if refusal != nil {
		return update.Updated{}, refusal
	}
	b, err := f.updates.ProgramFor(ctx, id, version)
	if err != nil {
		return update.Updated{}, err
	}
	if err := f.agreed(ctx, f.updateCall(who, b.Version, m)); err != nil {
		return update.Updated{}, err
	}
	// A roll-out to one machine: the hub chooses what is sent, and it is signed.
	return f.updates.One(ctx, who.CarriedOut(), id, version)
}

// StartRollout updates many machines in waves: one, a tenth, the rest.
func (f *Fleet) StartRollout(ctx context.Context, who identity.Actor, req update.RolloutRequest) (update.Rollout, error) {
	if err := may(who, identity.FleetAdmin); err != nil {
		return update.Rollout{}, err
	}
	targets, refusal := f.choice(who, req.Machines, req.Tag, req.All)
	if refusal != nil {
		return update.Rollout{}, refusal
	}
	version, err := f.programs.Version(ctx, req.Version)
	if err != nil {
		return update.Rollout{}, err
	}
	if err := f.agreed(ctx, f.updateCall(who, version, targets...)); err != nil {
		return update.Rollout{}, err
	}
	ids := make([]string, len(targets))
	for i, m := range targets {
		ids[i] = m.id
	}
	return f.updates.Start(ctx, who, version, ids)
}

// Rollouts lists roll-outs, newest first.
func (f *Fleet) Rollouts(ctx context.Context, who identity.Actor) ([]update.Rollout, error) {
	if err := may(who, identity.FleetRead); err != nil {
		return nil, err
	}
	return f.updates.List(ctx)
}

// SteerRollout pauses, resumes or cancels a roll-out.
func (f *Fleet) SteerRollout(ctx context.Context, who identity.Actor, id string, to update.RolloutState) (update.Rollout, error) {
	if err := may(who, identity.FleetAdmin); err != nil {
		return update.Rollout{}, err
	}
	return f.updates.Steer(ctx, who.String(), id, to)
}

// updated is what the updates know of machines.
type updated struct{ f *Fleet }

// Running tells what a machine runs; false when there is no such machine.
func (u updated) Running(id string) (update.Running, bool) {
	m := u.f.find(id)
	if m == nil {
		return update.Running{}, false
	}
	meta := m.meta()
	return update.Running{Version: meta.Version, Platform: platformOf(meta), Ours: meta.Ours}, true
}

// Send has a machine download a program and stage it.
func (u updated) Send(ctx context.Context, who identity.Actor, id string, b update.Binary) (jsontext.Value, error) {
	address, err := u.f.downloadLink(ctx, id, b)
	if err != nil {
		return nil, err
	}
	args := jsontext.Value(text(map[string]string{"version": b.Version, "url": address, "sha256": b.SHA256}))
	done, err := u.f.Call(ctx, who, call.Request{Machine: id, Tool: toolUpdate, Args: args})
	return done.Result, err
}

// Note keeps how an update went among what happened around a machine.
func (u updated) Note(id string, level kenny.Level, message string, detail map[string]any) {
	u.f.events.Hub(id, level, "update", message, detail)
}

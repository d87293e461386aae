package api

import (
	"context"

	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/fleet/update"
	"parley.internal/internal/identity"
	"parley.internal/protocol/rest"
)

func (fr fleetRoutes) updateRoutes() {
	const read, admin = identity.FleetRead, identity.FleetAdmin
	serve(fr, admin, rest.UpdateMachine, fr.update)
	serve(fr, read, rest.ListRollouts, fr.rollouts)
	serve(fr, admin, rest.StartRollout, fr.startRollout)
	serve(fr, admin, rest.SteerRollout, fr.steerRollout)
	serve(fr, read, rest.ListBinaries, fr.binaries)
	upload := fleetAccess(admin)
	upload.MaxBody = update.MaxBinary + 1 // one more, so that the fleet itself says that it is too large
	addWire(fr.api, fleetDialect, upload, rest.AddBinary, fr.addBinary)
}

func (fr fleetRoutes) update(ctx context.Context, who identity.Actor, in *rest.UpdateRequest) (rest.Updated, error) {
	v, err := fr.fleet.Update(ctx, who, in.ID, in.Body.Version)
	if code := fault.CodeOf(err); err != nil && updateRefused(code) {
		// Away or refused, by whatever name, is the machine's no.
		err = &fault.Error{Code: code, Message: err.Error(), FromMachine: true}
	}
	return v, err
}

func updateRefused(code fault.Code) bool {
	switch code {
	case fault.Blocked, fault.Disabled, fault.Unsupported, fault.ExecFailed, fault.Offline, fault.Timeout:
		return true
	}
	return false
}

func viewRollout(r update.Rollout) rest.Rollout {
	return rest.Rollout{
		ID: r.ID, Version: r.Version, State: string(r.State), Wave: r.Wave, Reason: r.Reason, By: r.By, Created: r.Created,
		Machines: each(r.Machines, func(m update.RolloutMachine) rest.RolloutMachine {
			return rest.RolloutMachine{ID: m.ID, Wave: m.Wave, State: string(m.State), Error: m.Error}
		}),
	}
}

func (fr fleetRoutes) rollouts(ctx context.Context, who identity.Actor, _ *rest.None) (rest.Rollouts, error) {
	list, err := fr.fleet.Rollouts(ctx, who)
	return rest.Rollouts{Updates: each(list, viewRollout)}, err
}

func (fr fleetRoutes) startRollout(ctx context.Context, who identity.Actor, in *rest.RolloutRequest) (rest.Rollout, error) {
	v, err := fr.fleet.StartRollout(ctx, who, update.RolloutRequest(*in))
	return viewRollout(v), err
}

func (fr fleetRoutes) steerRollout(ctx context.Context, who identity.Actor, in *rest.RolloutSteering) (rest.Rollout, error) {
	v, err := fr.fleet.SteerRollout(ctx, who, in.ID, update.RolloutState(in.Body.State))
	return viewRollout(v), err
}

func (fr fleetRoutes) binaries(ctx context.Context, who identity.Actor, _ *rest.None) (rest.Binaries, error) {
	list, err := fr.fleet.Binaries(ctx, who)
	return rest.Binaries{Binaries: list}, err
}

func (fr fleetRoutes) addBinary(ctx context.Context, who identity.Actor, in *rest.BinaryUpload) (rest.Binary, error) {
	return fr.fleet.AddBinary(ctx, who, update.Upload{
		Platform: in.Platform, Version: in.Version, Signature: in.Signature, Key: in.Key, Body: in.Body,
	})
}

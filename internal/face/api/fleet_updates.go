package api

import (
	"net/http"

	"parley/internal/fleet/fault"
	"parley/internal/fleet/update"
	"parley/internal/identity"
)

func (fr fleetRoutes) updateRoutes() {
	const read, admin = identity.FleetRead, identity.FleetAdmin
	fr.json("POST", "/api/machines/{id}/update", admin, "Update one machine's endpoint: {version?}", fr.update)
	fr.json("GET", "/api/fleet/updates", read, "Roll-outs, newest first", fr.rollouts)
	fr.json("POST", "/api/fleet/updates", admin, "Start a roll-out: {machines? | tag? | all?, version?}", fr.startRollout)
	fr.json("PATCH", "/api/fleet/updates/{id}", admin, "Pause, resume or cancel: {state: paused | running | cancelled}", fr.steerRollout)
	fr.json("GET", "/api/fleet/binaries", read, "Endpoint programs this hub hands out", fr.binaries)
	fr.json("POST", "/api/fleet/binaries", admin, "Add one: the program as body; query: platform, version, signature, public_key", fr.addBinary)
}

func (fr fleetRoutes) update(r *http.Request, who identity.Actor) (int, any, error) {
	var body struct {
		Version string `json:"version"`
	}
	if err := readFleetBody(r, &body); err != nil {
		return 0, nil, err
	}
	v, err := fr.fleet.Update(r.Context(), who, r.PathValue("id"), body.Version)
	if code := fault.CodeOf(err); err != nil && updateRefused(code) {
		// Away or refused, by whatever name, is the machine's no.
		err = &fault.Error{Code: code, Message: err.Error(), FromMachine: true}
	}
	return http.StatusOK, v, err
}

func updateRefused(code fault.Code) bool {
	switch code {
	case fault.Blocked, fault.Disabled, fault.Unsupported, fault.ExecFailed, fault.Offline, fault.Timeout:
		return true
	}
	return false
}

func (fr fleetRoutes) rollouts(r *http.Request, who identity.Actor) (int, any, error) {
	list, err := fr.fleet.Rollouts(r.Context(), who)
	return http.StatusOK, map[string]any{"updates": list}, err
}

func (fr fleetRoutes) startRollout(r *http.Request, who identity.Actor) (int, any, error) {
	var body struct {
		Machines []string `json:"machines"`
		Tag      string   `json:"tag"`
		All      bool     `json:"all"`
		Version  string   `json:"version"`
	}
	if err := readFleetBody(r, &body); err != nil {
		return 0, nil, err
	}
	v, err := fr.fleet.StartRollout(r.Context(), who, update.RolloutRequest{Machines: body.Machines, Tag: body.Tag, All: body.All, Version: body.Version})
	return http.StatusOK, v, err
}

func (fr fleetRoutes) steerRollout(r *http.Request, who identity.Actor) (int, any, error) {
	var body struct {
		State update.RolloutState `json:"state"`
	}
	if err := readFleetBody(r, &body); err != nil {
		return 0, nil, err
	}
	v, err := fr.fleet.SteerRollout(r.Context(), who, r.PathValue("id"), body.State)
	return http.StatusOK, v, err
}

func (fr fleetRoutes) binaries(r *http.Request, who identity.Actor) (int, any, error) {
	list, err := fr.fleet.Binaries(r.Context(), who)
	return http.StatusOK, map[string]any{"binaries": list}, err
}

func (fr fleetRoutes) addBinary(r *http.Request, who identity.Actor) (int, any, error) {
	q := r.URL.Query()
	v, err := fr.fleet.AddBinary(r.Context(), who, update.Upload{
		Platform: q.Get("platform"), Version: q.Get("version"), Signature: q.Get("signature"), Key: q.Get("public_key"),
		Body: r.Body,
	})
	return http.StatusCreated, v, err
}

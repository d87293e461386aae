package talk

import (
	wire "parley.internal/protocol/agentfirst"
)

// noPackages answers install and uninstall: there is nothing to install here.
func (r *request) noPackages() (*wire.ServerMessage, error) {
	return &wire.ServerMessage{Message: &wire.ServerMessage_HubEvent{HubEvent: &wire.HubEvent{
		Event: &wire.HubEvent_Done{Done: &wire.HubDone{Error: "this hub has no packages; put skills into the skills folder and MCP servers into parley.yaml"}},
	}}}, nil
}

func (r *request) listPackages() (*wire.ServerMessage, error) {
	return &wire.ServerMessage{Message: &wire.ServerMessage_PackageList{PackageList: &wire.PackageList{}}}, nil
}

func (r *request) searchHub() (*wire.ServerMessage, error) {
	return &wire.ServerMessage{Message: &wire.ServerMessage_HubPackageList{HubPackageList: &wire.HubPackageList{}}}, nil
}

func (r *request) noService() (*wire.ServerMessage, error) { return nil, errNoService }

func (r *request) noConfig() (*wire.ServerMessage, error) { return nil, errGone }

func (r *request) stats() (*wire.ServerMessage, error) {
	d := r.c.face.d
	s := d.Talk.Stats()
	return &wire.ServerMessage{Message: &wire.ServerMessage_Stats{Stats: &wire.Stats{
		UptimeSecs: secondsSince(s.Since), ActiveConversations: small(s.Active),
		RegisteredAgents: small(len(d.Agents.List())), ActiveModel: d.Models.Active(),
	}}}, nil
}

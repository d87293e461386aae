package talk

import (
	"path"

	"parley.internal/internal/brain/mcpclient"
	"parley.internal/internal/brain/resource"
	wire "parley.internal/protocol/agentfirst"
)

// settings is the source of what the hub's own settings configure.
const settings = "parley.yaml"

func (r *request) listMCPs() (*wire.ServerMessage, error) {
	out := &wire.McpList{}
	for _, m := range r.c.face.d.Shelf.MCPs() {
		out.Mcps = append(out.Mcps, mcpInfo(m))
	}
	return &wire.ServerMessage{Message: &wire.ServerMessage_McpList{McpList: out}}, nil
}

func mcpInfo(m resource.MCP) *wire.McpInfo {
	out := &wire.McpInfo{
		Name: m.Name, Command: m.Command, Args: m.Args, Env: m.Env, Url: m.URL, Auth: m.Bearer != "", AutoRestart: true,
		Enabled: !m.Disabled, SourceKind: wire.SourceLocal, Error: m.Status.Error, ToolCount: small(m.Status.Tools),
	}
	if !m.Local {
		out.Source = settings
	}
	switch m.Status.State {
	case mcpclient.Connected:
		out.Status = wire.MCPConnected
	case mcpclient.Disconnected:
		out.Status = wire.MCPDisconnected
	case mcpclient.Failed:
		out.Status = wire.MCPFailed
	}
	return out
}

// setMCPs replaces the servers that were added here. Those of the settings may
// come along, as a client that sends back what it was shown does; they stay.
func (r *request) setMCPs() (*wire.ServerMessage, error) {
	var list []mcpclient.Server
	for _, m := range r.msg.GetSetLocalMcps().GetMcps() {
		if m.GetSource() == settings {
			continue
		}
		// The protocol has no way to say "off" here that old clients would not say
		// by accident, so a new server is on; set_enabled is for the rest.
		list = append(list, mcpclient.Server{Name: m.GetName(), Command: m.GetCommand(), Args: m.GetArgs(), Env: m.GetEnv(), URL: m.GetUrl()})
	}
	return pong(r.c.face.d.Shelf.SetMCPs(list))
}

func (r *request) listSkills() (*wire.ServerMessage, error) {
	skills, err := r.c.face.d.Shelf.Skills()
	if err != nil {
		return nil, err
	}
	out := &wire.SkillList{}
	for _, s := range skills {
		out.Skills = append(out.Skills, &wire.SkillInfo{
			Name: s.Name, Enabled: s.Enabled && s.Err == nil, Source: path.Join("skills", s.File), SourceKind: wire.SourceLocal,
		})
	}
	return &wire.ServerMessage{Message: &wire.ServerMessage_SkillList{SkillList: out}}, nil
}

func (r *request) setEnabled() (*wire.ServerMessage, error) {
	in, d := r.msg.GetSetEnabled(), r.c.face.d
	switch in.GetKind() {
	case wire.ResourceProvider:
		return pong(d.Models.SetEnabled(r.c.ctx, in.GetName(), in.GetEnabled()))
	case wire.ResourceMCP:
		return pong(d.Shelf.EnableMCP(in.GetName(), in.GetEnabled()))
	case wire.ResourceSkill:
		return pong(d.Shelf.EnableSkill(in.GetName(), in.GetEnabled()))
	}
	return nil, bad("unknown kind of resource %d", in.GetKind())
}

// reload looks for changed agents and skills at once.
func (r *request) reload() (*wire.ServerMessage, error) {
	if err := r.c.face.d.Agents.Reload(); err != nil {
		return nil, err
	}
	return pong(r.c.face.d.Shelf.Reload())
}

package talk

import (
	"parley.internal/internal/brain"
	"parley.internal/internal/identity"
	wire "parley.internal/protocol/agentfirst"
)

func (r *request) listAgents() (*wire.ServerMessage, error) {
	out := &wire.AgentList{}
	for _, e := range r.c.face.d.Agents.List() {
		out.Agents = append(out.Agents, r.agentInfo(e))
	}
	return &wire.ServerMessage{Message: &wire.ServerMessage_AgentList{AgentList: out}}, nil
}

func (r *request) getAgent() (*wire.ServerMessage, error) {
	return r.agent(r.msg.GetGetAgent().GetName())
}

func (r *request) agent(name string) (*wire.ServerMessage, error) {
	e, err := r.c.face.d.Agents.Entry(name)
	if err != nil {
		return nil, err
	}
	return &wire.ServerMessage{Message: &wire.ServerMessage_AgentInfo{AgentInfo: r.agentInfo(e)}}, nil
}

// agentInfo is an agent as a client sees it; its prompt is for those who manage agents.
func (r *request) agentInfo(e brain.Entry) *wire.AgentInfo {
	out := &wire.AgentInfo{Name: e.Name}
	if e.Err != nil {
		out.Error = e.Err.Error()
	}
	a := e.Agent
	if a == nil {
		return out
	}
	out.Description, out.MaxIterations, out.Thinking = a.Description, small(a.MaxIterations), a.Thinking != ""
	out.Members, out.Skills, out.Mcps, out.Tools = a.Members, a.Skills, a.MCPs, a.Tools
	out.CompactToolMaxLen = small(a.CompactToolMaxLen)
	if a.Model != "" {
		out.Model = new(a.Model)
	}
	if tokens, on := a.Compact.Limit(r.window(a)); on {
		out.CompactThreshold = new(small(tokens))
	}
	if r.who.Scopes.Has(identity.AgentsManage) {
		out.Prompt = a.Prompt
	}
	return out
}

// window is how much the agent's model reads at once, 0 if unknown.
func (r *request) window(a *brain.Agent) int64 {
	m, err := r.c.face.d.Models.Resolve(a.Model)
	if err != nil {
		return 0
	}
	return m.Window
}

func (r *request) createAgent() (*wire.ServerMessage, error) {
	in := r.msg.GetCreateAgent()
	if _, err := r.c.face.d.Agents.Create(r.c.ctx, r.who, in.GetName(), []byte(in.GetConfig())); err != nil {
		return nil, err
	}
	return r.agent(in.GetName())
}

func (r *request) updateAgent() (*wire.ServerMessage, error) {
	in := r.msg.GetUpdateAgent()
	if _, err := r.c.face.d.Agents.Update(r.c.ctx, r.who, in.GetName(), []byte(in.GetConfig())); err != nil {
		return nil, err
	}
	return r.agent(in.GetName())
}

func (r *request) deleteAgent() (*wire.ServerMessage, error) {
	return pong(r.c.face.d.Agents.Delete(r.c.ctx, r.who, r.msg.GetDeleteAgent().GetName()))
}

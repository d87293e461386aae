package mmpagent

import (
	"context"

	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/meeting"
)

// Direct is another agent, reached without a place.
type Direct struct {
	agent *Agent
	base  string
}

// Direct prepares to talk to the agent at an address such as https://host. The
// session of this agent is used when the address is the place's own.
func (a *Agent) Direct(address string) (*Direct, error) {
	base, err := baseURL(address, a.opts.Insecure)
	if err != nil {
		return nil, err
	}
	d := &Direct{agent: a, base: base + "/meeting/v1"}
	if base != a.base {
		d.agent = &Agent{opts: a.opts, base: base, called: calledAt(base), http: a.http, id: a.ID()}
	}
	return d, nil
}

// Introduction is the other agent's own.
func (d *Direct) Introduction(ctx context.Context) (*meeting.PeerIntroduction, error) {
	var body mmp.Raw
	if err := d.agent.fetch(ctx, d.base, request{method: "GET", path: "/introduce"}, &body); err != nil {
		return nil, err
	}
	return meeting.ReadIntroduction(body)
}

// Introduce tells the other agent who we are.
func (d *Direct) Introduce(ctx context.Context, payload any) (out meeting.IntroducedAnswer, err error) {
	m, err := meeting.NewMessage(meeting.ActionIntroduce, d.agent.ID(), "", payload, d.agent.opts.Now())
	if err != nil {
		return out, err
	}
	err = d.agent.fetch(ctx, d.base, request{method: "POST", path: "/introduce", body: m}, &out)
	if err == nil && out.SessionToken != "" {
		d.agent.mu.Lock()
		d.agent.token = out.SessionToken
		d.agent.mu.Unlock()
	}
	return out, err
}

// Say sends a message; the answer is the other agent's processing result.
func (d *Direct) Say(ctx context.Context, m meeting.Message) (map[string]mmp.Raw, error) {
	var out map[string]mmp.Raw
	err := d.agent.fetch(ctx, d.base, request{method: "POST", path: "/message", body: m}, &out)
	return out, err
}

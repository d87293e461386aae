package seat

import (
	"context"
	"encoding/json"

	"parley.internal/internal/identity"
	"parley.internal/internal/room"
	"parley.internal/protocol/kibitz"
)

// OpenDemo opens a room with something in it to try rooms out with: "cards".
// Views go to one participant each, and only the table publishes them.
func (s *Seats) OpenDemo(ctx context.Context, who identity.Actor, req room.OpenRequest, demo string) (room.Info, error) {
	if demo != "cards" {
		return room.Info{}, &kibitz.Refusal{Code: kibitz.ContentBad, Reason: "there is no such demo; there is: cards"}
	}
	policy := kibitz.DefaultPolicy()
	if len(req.Policy) > 0 {
		var err error
		if policy, err = kibitz.ReadPolicy(req.Policy); err != nil {
			return room.Info{}, err
		}
	}
	switch {
	case policy.Sealed:
		return room.Info{}, &kibitz.Refusal{Code: kibitz.SealRequired, Reason: "the hub has no key to a sealed room"}
	case policy.Agents.Mode == kibitz.AgentsNone:
		return room.Info{}, &kibitz.Refusal{Code: kibitz.GateNoAgents, Reason: "the table is an agent of the hub"}
	}
	key, err := newKey()
	if err != nil {
		return room.Info{}, err
	}
	r := &row{agent: demoCards, key: key, tools: []string{}}
	if err := s.made(ctx, who, r); err != nil {
		return room.Info{}, err
	}
	if req.Policy, err = tablePolicy(policy, r); err != nil {
		return room.Info{}, err
	}
	info, err := s.d.Rooms.Open(ctx, who, req)
	if err != nil {
		return room.Info{}, err
	}
	r.room = info.Room
	return info, s.enter(ctx, r)
}

// tablePolicy makes a policy one of a room with a table.
func tablePolicy(p *kibitz.Policy, r *row) ([]byte, error) {
	caps := kibitz.AgentGrant()
	caps.Act = []kibitz.Capability{kibitz.SendChat}
	key, err := json.Marshal(r.key.Public())
	if err != nil {
		return nil, err
	}
	p.Agents.Keys = append(p.Agents.Keys, kibitz.AllowedKey{Key: key, Caps: &caps, Label: "cards"})
	p.Views = kibitz.ViewsPolicy{Publishers: []string{r.keyID()}, DirectedOnly: true}
	return json.Marshal(p)
}

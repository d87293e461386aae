package skill

import (
	"context"
	"encoding/json"

	"parley.internal/internal/brain/tool"
	"parley.internal/internal/visible"
	"parley.internal/protocol/mmp/meeting"
)

// HostedTools are for agents of this hub. None approves, trusts or revokes: that is
// for people. What leaves the hub is asked about.
func HostedTools(s *Skills) []*tool.Tool {
	h := hosted{s}
	const to = `"to":{"type":"string","minLength":1,"maxLength":256,"description":"id of the other agent"},"place":{"type":"string","maxLength":256,"description":"id of the place of a visit; empty for this hub's own"}`
	return []*tool.Tool{
		h.tool("skill_received", tool.ReadOnly, "List skills other agents sent and what became of them. The texts themselves are loaded with the skill tool once a person approved them.",
			`{"type":"object","additionalProperties":false,"properties":{}}`, h.received),
		h.tool("skill_exchanges", tool.ReadOnly, "List offers and requests of skills between agents of this hub and others.",
			`{"type":"object","additionalProperties":false,"properties":{}}`, h.exchanges),
		h.tool("skill_offer", tool.Sensitive, "Offer one of your public skills to another agent at the meeting place.",
			`{"type":"object","additionalProperties":false,"required":["to","skill"],"properties":{`+to+`,"skill":{"type":"string","minLength":1,"maxLength":200}}}`, h.offer),
		h.tool("skill_request", tool.Sensitive, "Ask another agent at the meeting place for a skill. What comes waits until a person approved it.",
			`{"type":"object","additionalProperties":false,"required":["to"],"properties":{`+to+`,"skill":{"type":"string","maxLength":128},"about":{"type":"string","maxLength":2000}}}`, h.request),
	}
}

type hosted struct{ s *Skills }

type toolArgs struct {
	To    string `json:"to"`
	Place string `json:"place"`
	Skill string `json:"skill"`
	About string `json:"about"`
}

func (h hosted) tool(name string, class tool.Class, description, schema string, run func(context.Context, tool.Call, toolArgs) (any, error)) *tool.Tool {
	made := &tool.Tool{
		Name: name, Description: description, Schema: json.RawMessage(schema), Class: class,
		Run: func(ctx context.Context, call tool.Call) (tool.Result, error) {
			args, err := tool.Arguments[toolArgs](call)
			if err != nil {
				return tool.Result{}, err
			}
			value, err := run(ctx, call, args)
			if err != nil {
				return tool.Result{}, err
			}
			raw, err := json.Marshal(value)
			// Names and summaries are words of strangers.
			return tool.Result{Text: string(raw), Untrusted: true, Source: "meeting place"}, err
		},
	}
	if class != tool.ReadOnly {
		made.Refuses = func(ctx context.Context, call tool.Call) error { return h.s.As(call.Actor).MayActAs(ctx, call.Agent) }
	}
	return made
}

func (h hosted) received(ctx context.Context, call tool.Call, _ toolArgs) (any, error) {
	items, err := h.s.As(call.Actor).List(ctx, "", 100)
	out := []map[string]any{}
	for _, i := range items {
		if i.Agent == call.Agent && i.State != StateQuarantined { // what waits is a person's business
			out = append(out, map[string]any{"name": firstText(i.Name, visible.Line(i.Title)), "state": i.State, "from": i.Sender, "level": i.Level})
		}
	}
	return out, err
}

func (h hosted) exchanges(ctx context.Context, call tool.Call, _ toolArgs) (any, error) {
	list, err := h.s.As(call.Actor).Exchanges(ctx, 100)
	out := []map[string]any{}
	for _, e := range list {
		if e.Agent == call.Agent {
			out = append(out, map[string]any{"side": e.Side, "with": e.Peer, "skill": visible.Line(firstText(e.SkillID, e.SkillName)), "state": e.State})
		}
	}
	return out, err
}

func (h hosted) offer(ctx context.Context, call tool.Call, a toolArgs) (any, error) {
	e, err := h.s.As(call.Actor).Offer(ctx, call.Agent, a.Place, a.Skill, a.To)
	return map[string]any{"exchange": e.ID, "state": e.State}, err
}

func (h hosted) request(ctx context.Context, call tool.Call, a toolArgs) (any, error) {
	e, err := h.s.As(call.Actor).Request(ctx, call.Agent, a.Place, a.To, meeting.RequestSkillPayload{SkillID: a.Skill, Description: a.About})
	return map[string]any{"exchange": e.ID, "state": e.State}, err
}

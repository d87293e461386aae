package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/internal/brain/tool"
	"parley.internal/internal/fleet"
	"parley.internal/internal/fleet/call"
	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/identity"
	"parley.internal/internal/judge"
	"parley.internal/protocol/kenny"
)

// Names of tools that are handled in their own way.
const (
	toolUpdate = "agent_update"
	toolScreen = "screen_capture"
)

// maxForModel is how much of a machine's answer a model is given.
const maxForModel = 100_000

// Hosted are the tools of machines for agents that run on this hub. An agent
// has what the person it acts for has at that moment, and no more. Reading runs; what
// shows private things is asked once a run; what changes a machine is asked every
// time. Answers are data, not instructions. standing nil trusts what runs began with.
func Hosted(api fleet.API, standing fleet.Standing) []*tool.Tool {
	h := hosted{api, standing}
	tools := []*tool.Tool{
		h.look("list_agents", "List the machines of this hub: id, system, presence, health and tags. Use the ids with the other machine tools.",
			`{"type":"object","additionalProperties":false,"properties":{"limit":{"type":"integer","minimum":1,"maximum":1000},"cursor":{"type":"string"}}}`, h.list),
		h.look("fleet_overview", "Sum up how all machines are, worst first.",
			`{"type":"object","additionalProperties":false,"properties":{"limit":{"type":"integer","minimum":1,"maximum":1000},"cursor":{"type":"string"}}}`, h.overview),
		h.look("agent_health", "Show how one machine is, section by section, with reasons.", oneMachine, h.health),
		h.look("agent_snapshot", "Show the newest telemetry of one machine, or one section of it.",
			`{"type":"object","additionalProperties":false,"required":["id"],"properties":{"id":{"type":"string"},"section":{"type":"string"}}}`, h.snapshot),
		h.look("call_status", "Look at a call that was queued or waits for approval.",
			`{"type":"object","additionalProperties":false,"required":["call_id"],"properties":{"call_id":{"type":"string"}}}`, h.status),
	}
	for _, t := range kenny.Tools() {
		if t.Name == toolUpdate {
			continue // updates are an operator's business
		}
		tools = append(tools, h.machineTool(t))
	}
	return tools
}

const oneMachine = `{"type":"object","additionalProperties":false,"required":["id"],"properties":{"id":{"type":"string","description":"machine id from list_agents"}}}`

type hosted struct {
	api      fleet.API
	standing fleet.Standing
}

// as is the agent, with what is left of its person's rights now.
func (h hosted) as(ctx context.Context, call tool.Call) (identity.Actor, error) {
	if h.standing == nil || call.Actor.Scopes.Empty() {
		return call.Actor, nil
	}
	who, err := h.standing(ctx, call.Actor)
	if err != nil {
		return who, fault.Errorf(fault.Forbidden, "the login this run began with is not valid any more")
	}
	return who, nil
}

// look makes a tool that reads what the hub knows.
func (h hosted) look(name, description, schema string, run func(ctx context.Context, who identity.Actor, args lookArgs) (any, error)) *tool.Tool {
	return &tool.Tool{
		Name: name, Description: description, Schema: json.RawMessage(schema), Class: tool.ReadOnly,
		Run: func(ctx context.Context, call tool.Call) (tool.Result, error) {
			var args lookArgs
			if err := json.Unmarshal(call.Arguments, &args); err != nil {
				return tool.Result{}, tool.Errorf(tool.Validation, "%s: %s", fault.BadArgs, err)
			}
			who, err := h.as(ctx, call)
			if err != nil {
				return tool.Result{}, toolError(err)
			}
			v, err := run(ctx, who, args)
			if err != nil {
				return tool.Result{}, toolError(err)
			}
			return asJSON("machines", v)
		},
	}
}

type lookArgs struct {
	ID      string `json:"id"`
	Section string `json:"section"`
	CallID  string `json:"call_id"`
	Limit   int    `json:"limit"`
	Cursor  string `json:"cursor"`
}

func (h hosted) list(ctx context.Context, who identity.Actor, a lookArgs) (any, error) {
	p, err := h.api.Machines(ctx, who, fleet.ListQuery{Limit: a.Limit, Cursor: a.Cursor})
	return map[string]any{"agents": p.Machines, "next_cursor": p.Next}, err
}

func (h hosted) overview(ctx context.Context, who identity.Actor, a lookArgs) (any, error) {
	return h.api.Overview(ctx, who, fleet.ListQuery{Limit: a.Limit, Cursor: a.Cursor})
}

func (h hosted) health(ctx context.Context, who identity.Actor, a lookArgs) (any, error) {
	return h.api.Health(ctx, who, a.ID)
}

func (h hosted) snapshot(ctx context.Context, who identity.Actor, a lookArgs) (any, error) {
	return h.api.Snapshot(ctx, who, a.ID, a.Section)
}

func (h hosted) status(ctx context.Context, who identity.Actor, a lookArgs) (any, error) {
	return h.api.CallStatus(ctx, who, a.CallID)
}

// classes are what rules (policy.approvals) call a tool's class: a run that asks in the
// fleet's place must find the same rule as the fleet.
var classes = map[kenny.Class]tool.Class{kenny.Sensitive: tool.Sensitive, kenny.Mutating: tool.Mutating}

// machineTool makes a tool that does something on a machine. It asks by itself,
// in the inbox, so the run's own asking stays out of it.
func (h hosted) machineTool(t kenny.Tool) *tool.Tool {
	made := &tool.Tool{Name: t.Name, Description: t.Description, Schema: json.RawMessage(t.NamedSchema()), Class: tool.ReadOnly, Timeout: -1}
	if t.Class != kenny.ReadOnly {
		made.Class, made.Asks = classes[t.Class], true
		made.Consent = func(use tool.Call) tool.Consent { return h.consent(use, t) }
		made.Refuses = func(ctx context.Context, use tool.Call) error { return h.refuses(ctx, use, t) }
		made.Declined = func(use tool.Call, why error) { h.declined(use, t, why) }
	}
	made.Run = func(ctx context.Context, use tool.Call) (tool.Result, error) {
		in, err := t.CheckInput(jsontext.Value(use.Arguments))
		if err != nil {
			return tool.Result{}, toolError(fault.FromWire(err))
		}
		return h.do(ctx, use, t, in)
	}
	return made
}

// consent is what Call would ask, for a task that asks in its own way.
func (h hosted) consent(use tool.Call, t kenny.Tool) tool.Consent {
	in, err := t.CheckInput(jsontext.Value(use.Arguments))
	if err != nil {
		return tool.Consent{} // it is refused without a question
	}
	policy, asks := h.api.WouldAsk(use.Actor, h.request(use, t, in))
	return tool.Consent{Asks: asks, Policy: policy}
}

// refuses is why Call would refuse, for a run that would ask about it first.
func (h hosted) refuses(ctx context.Context, use tool.Call, t kenny.Tool) error {
	in, err := t.CheckInput(jsontext.Value(use.Arguments))
	if err != nil {
		return toolError(fault.FromWire(err))
	}
	who, err := h.as(ctx, use)
	if err != nil {
		return toolError(err)
	}
	if err := h.api.WouldRefuse(who, h.request(use, t, in)); err != nil {
		return toolError(err)
	}
	return nil
}

// declined has the call log and the trail say that a run asked about a call in the fleet's
// place and was told no.
func (h hosted) declined(use tool.Call, t kenny.Tool, why error) {
	in, err := t.CheckInput(jsontext.Value(use.Arguments))
	if err != nil {
		return // it would have been refused without a question
	}
	code := fault.Denied
	switch tool.TypeOf(why) {
	case tool.ApprovalTimeout:
		code = fault.ApprovalTimeout
	case tool.Cancelled:
		code = fault.Cancelled
	}
	h.api.Declined(use.Actor, h.request(use, t, in), fault.Errorf(code, "%s", why.Error()))
}

func (h hosted) request(use tool.Call, t kenny.Tool, in kenny.Input) call.Request {
	return call.Request{
		Machine: in.AgentID, Tool: t.Name, Args: in.Args.Wire(), Timeout: in.Timeout, QueueFor: in.QueueFor, ApprovedBy: use.ApprovedBy, Taint: use.Taint,
		Tainted: use.Tainted, Stranger: strings.Contains(use.Principal, ":"), Unruled: judge.Matches(use.Required, t.Name),
	}
}

func (h hosted) do(ctx context.Context, use tool.Call, t kenny.Tool, in kenny.Input) (tool.Result, error) {
	who, err := h.as(ctx, use)
	if err != nil {
		return tool.Result{}, toolError(err)
	}
	if t.Name == toolScreen {
		shot, err := h.api.TakeScreenshot(ctx, who, h.request(use, t, in))
		if err != nil {
			return tool.Result{}, toolError(err)
		}
		return tool.Result{Text: fmt.Sprintf("Picture %d of %s was taken (%d×%d); people see it on the machine's page.", shot.N, in.AgentID, shot.Width, shot.Height)}, nil
	}
	done, err := h.api.Call(ctx, who, h.request(use, t, in))
	if err != nil {
		return tool.Result{}, toolError(err)
	}
	if done.State == call.StateQueued {
		waits, err := json.Marshal(map[string]any{"state": done.State, "call_id": done.CallID, "expires_at": done.Expires})
		return tool.Result{Text: string(waits)}, err
	}
	return forModel("machine "+in.AgentID, string(done.Result)), nil
}

// asJSON is what the hub knows, for a model.
func asJSON(source string, v any) (tool.Result, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return tool.Result{}, err
	}
	return forModel(source, string(raw)), nil
}

// forModel frames a machine's words as data and keeps them short.
func forModel(source, words string) tool.Result {
	kept, _ := tool.Clip(words, maxForModel)
	return tool.Result{Text: kept, Untrusted: true, Source: source}
}

// toolError gives a failure the type runs report and the text models read.
func toolError(err error) error {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err
	}
	kinds := map[fault.Code]tool.ErrorType{
		fault.Denied: tool.Rejected, fault.ApprovalTimeout: tool.ApprovalTimeout, fault.Cancelled: tool.Cancelled, fault.Forbidden: tool.Permission, fault.Blocked: tool.Denied,
		fault.Disabled: tool.Denied, fault.NotFound: tool.NotFound, fault.BadArgs: tool.Validation, fault.UnknownTool: tool.Validation, fault.NoAgent: tool.Validation,
		fault.Timeout: tool.TimedOut, fault.Busy: tool.RateLimit,
	}
	kind, known := kinds[e.Code]
	if !known {
		kind = tool.Unknown
	}
	failure := tool.Errorf(kind, "%s", e.Error())
	if e.FromMachine {
		return failure.From("machine")
	}
	return failure
}

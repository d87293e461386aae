package api

import (
	"context"
	"encoding/json"
	"time"

	"parley.internal/internal/identity"
	"parley.internal/internal/skill"
	"parley.internal/internal/visible"
	"parley.internal/protocol/mmp/meeting"
	"parley.internal/protocol/rest"
)

func extensionViewOf(e skill.Extension) rest.Extension {
	return rest.Extension{
		Agent: e.Agent, Name: visible.Line(e.Name), Version: visible.Line(e.Version), Hash: e.Hash, State: string(e.State), Sender: e.Sender,
		Actions: append([]string{}, e.Actions...), Reason: e.Reason, Changed: e.Changed,
		Findings: each(e.Findings, findingOf), Approval: e.Approval, Source: visible.Text(e.Content),
	}
}

func (r skillRoutes) extensions(ctx context.Context, who identity.Actor, _ *rest.None) (rest.Extensions, error) {
	list, off, err := r.s.As(who).Extensions(ctx)
	out := rest.Extensions{Extensions: each(list, extensionViewOf), Off: []rest.ExtensionOff{}}
	for _, o := range off {
		out.Off = append(out.Off, rest.ExtensionOff{Name: o.Name, Reason: o.Reason})
	}
	return out, err
}

func (r skillRoutes) switchExtension(ctx context.Context, who identity.Actor, in *rest.ExtensionSwitch) (rest.Extension, error) {
	e, err := r.s.As(who).SwitchExtension(ctx, in.Hash, in.Body.Enabled)
	return extensionViewOf(e), err
}

func (r skillRoutes) propose(ctx context.Context, who identity.Actor, in *rest.ExtensionProposal) (rest.None, error) {
	return rest.None{}, r.s.As(who).ProposeExtension(ctx, in.Agent, in.Place, in.Name, in.To)
}

func threadViewOf(t skill.Thread) (rest.Thread, error) {
	var body any = t.Negotiation
	if t.Discussion != nil {
		body = t.Discussion
	}
	raw, err := json.Marshal(body)
	return rest.Thread{ID: t.ID, Agent: t.Agent, Kind: t.Kind, Peer: t.Peer, Place: t.Place, State: string(t.State), Approval: t.Approval, Body: raw, Active: t.Active}, err
}

func (r skillRoutes) threads(ctx context.Context, who identity.Actor, in *rest.SkillLimit) (rest.Threads, error) {
	out := rest.Threads{Threads: []rest.Thread{}}
	list, err := r.s.As(who).Threads(ctx, in.Limit)
	if err != nil {
		return rest.Threads{}, err
	}
	for _, t := range list {
		v, err := threadViewOf(t)
		if err != nil {
			return rest.Threads{}, err
		}
		out.Threads = append(out.Threads, v)
	}
	return out, nil
}

func (r skillRoutes) say(ctx context.Context, who identity.Actor, in *rest.ThreadMove) (rest.Thread, error) {
	if in.Payload == nil {
		in.Payload = map[string]any{}
	}
	t, err := r.s.As(who).Say(ctx, in.Agent, in.Place, in.To, in.Action, in.Thread, in.Payload)
	if err != nil {
		return rest.Thread{}, err
	}
	return threadViewOf(t)
}

func visitViewOf(v skill.Visit) rest.Visit {
	return rest.Visit{
		ID: v.ID, Agent: v.Agent, AgentID: v.AgentID, URL: v.URL, Place: v.Place, Name: visible.Line(v.Name), PlaceKey: visible.Line(v.PlaceKey), Keep: v.Keep, Deposit: v.Deposit,
		Started: v.Started, Until: v.Until, Interactions: v.Interactions, Limit: v.Limit, Warning: v.Warning, Problem: visible.Line(v.Problem), Peer: v.Peer,
	}
}

func (r skillRoutes) visits(ctx context.Context, who identity.Actor, _ *rest.None) (rest.Visits, error) {
	list, err := r.s.As(who).Visits(ctx)
	return rest.Visits{Visits: each(list, visitViewOf)}, err
}

func visitRequestOf(in *rest.VisitRequest) skill.VisitRequest {
	return skill.VisitRequest{Agent: in.Agent, URL: in.URL, For: time.Duration(in.Minutes) * time.Minute, Keep: in.Keep, Deposit: in.Deposit, Insecure: in.Insecure}
}

func (r skillRoutes) visit(ctx context.Context, who identity.Actor, in *rest.VisitRequest) (rest.Visit, error) {
	v, err := r.v.Visit(ctx, who, visitRequestOf(in))
	return visitViewOf(v), err
}

func (r skillRoutes) meet(ctx context.Context, who identity.Actor, in *rest.VisitRequest) (rest.Meeting, error) {
	v, met, err := r.v.Meet(ctx, who, visitRequestOf(in))
	out := rest.Meeting{Visit: visitViewOf(v), Proven: met.Proven, Actions: each(met.Actions, visible.Line), Extensions: each(met.Extensions, visible.Line), Skills: each(met.Skills, visibleSkill)}
	return out, err
}

// visibleSkill is another agent's skill with nothing hidden in its words.
func visibleSkill(s meeting.SkillInfo) meeting.SkillInfo {
	s.ID, s.Name, s.Summary, s.Layer, s.Format, s.ContentHash = visible.Line(s.ID), visible.Line(s.Name), visible.Line(s.Summary), visible.Line(s.Layer), visible.Line(s.Format), visible.Line(s.ContentHash)
	s.Tags = each(s.Tags, visible.Line)
	return s
}

func (r skillRoutes) endVisit(ctx context.Context, who identity.Actor, in *rest.ByID) (rest.None, error) {
	return rest.None{}, r.v.EndVisit(ctx, who, in.ID)
}

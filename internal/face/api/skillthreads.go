package api

import (
	"context"
	"encoding/json"
	"time"

	"parley/internal/identity"
	"parley/internal/scan"
	"parley/internal/skill"
	"parley/internal/visible"
)

type extensionView struct {
	Agent   string    `json:"agent,omitempty"`
	Name    string    `json:"name"`
	Version string    `json:"version"`
	Hash    string    `json:"hash"`
	State   string    `json:"state"`
	Sender  string    `json:"sender,omitempty" doc:"empty for one of this hub's files"`
	Actions []string  `json:"actions"`
	Reason  string    `json:"reason,omitempty"`
	Changed time.Time `json:"changed_at,omitzero"`

	Findings []scan.Finding `json:"findings,omitempty"`
	Approval string         `json:"approval_id,omitempty" doc:"the question whether it may count, while it waits"`
	Source   string         `json:"source,omitempty" doc:"all that is in it, with hidden characters made visible"`
}

func extensionViewOf(e skill.Extension) extensionView {
	return extensionView{
		Agent: e.Agent, Name: visible.Line(e.Name), Version: visible.Line(e.Version), Hash: e.Hash, State: string(e.State), Sender: e.Sender,
		Actions: append([]string{}, e.Actions...), Reason: e.Reason, Changed: e.Changed,
		Findings: e.Findings, Approval: e.Approval, Source: visible.Text(e.Content),
	}
}

type switchedOff struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

type extensionsOut struct {
	Body struct {
		Extensions []extensionView `json:"extensions"`
		Off        []switchedOff   `json:"off" doc:"files that are not used, and why"`
	}
}

func (r skillRoutes) extensions(ctx context.Context, who identity.Actor, _ *struct{}) (*extensionsOut, error) {
	out := &extensionsOut{}
	out.Body.Extensions, out.Body.Off = []extensionView{}, []switchedOff{}
	list, off, err := r.s.As(who).Extensions(ctx)
	for _, e := range list {
		out.Body.Extensions = append(out.Body.Extensions, extensionViewOf(e))
	}
	for _, o := range off {
		out.Body.Off = append(out.Body.Off, switchedOff{o.Name, o.Reason})
	}
	return out, err
}

type switchIn struct {
	Hash string `path:"hash"`
	Body struct {
		Enabled bool `json:"enabled"`
	}
}

type extensionOut struct{ Body extensionView }

func (r skillRoutes) switchExtension(ctx context.Context, who identity.Actor, in *switchIn) (*extensionOut, error) {
	e, err := r.s.As(who).SwitchExtension(ctx, in.Hash, in.Body.Enabled)
	return &extensionOut{extensionViewOf(e)}, err
}

type proposeIn struct {
	Body struct {
		ToPeer
		Name string `json:"name" minLength:"1" maxLength:"100"`
	}
}

func (r skillRoutes) propose(ctx context.Context, who identity.Actor, in *proposeIn) (*struct{}, error) {
	return nil, r.s.As(who).ProposeExtension(ctx, in.Body.Agent, in.Body.Place, in.Body.Name, in.Body.To)
}

type threadView struct {
	ID       string          `json:"id"`
	Agent    string          `json:"agent"`
	Kind     string          `json:"kind"`
	Peer     string          `json:"peer"`
	Place    string          `json:"place,omitempty"`
	State    string          `json:"state"`
	Approval string          `json:"approval_id,omitempty" doc:"the question whether to agree"`
	Body     json.RawMessage `json:"body"`
	Active   time.Time       `json:"active_at"`
}

func threadViewOf(t skill.Thread) (threadView, error) {
	var body any = t.Negotiation
	if t.Discussion != nil {
		body = t.Discussion
	}
	raw, err := json.Marshal(body)
	return threadView{ID: t.ID, Agent: t.Agent, Kind: t.Kind, Peer: t.Peer, Place: t.Place, State: string(t.State), Approval: t.Approval, Body: raw, Active: t.Active}, err
}

type threadsOut struct {
	Body struct {
		Threads []threadView `json:"threads"`
	}
}

func (r skillRoutes) threads(ctx context.Context, who identity.Actor, in *limitQuery) (*threadsOut, error) {
	out := &threadsOut{}
	out.Body.Threads = []threadView{}
	list, err := r.s.As(who).Threads(ctx, in.Limit)
	if err != nil {
		return nil, err
	}
	for _, t := range list {
		v, err := threadViewOf(t)
		if err != nil {
			return nil, err
		}
		out.Body.Threads = append(out.Body.Threads, v)
	}
	return out, nil
}

type sayIn struct {
	Body struct {
		ToPeer
		Action  string         `json:"action" enum:"propose,support,oppose,synthesize,offer,counter,agree,withdraw"`
		Thread  string         `json:"thread,omitempty" maxLength:"128"`
		Payload map[string]any `json:"payload,omitempty"`
	}
}

type threadOut struct{ Body threadView }

func (r skillRoutes) say(ctx context.Context, who identity.Actor, in *sayIn) (*threadOut, error) {
	b := in.Body
	if b.Payload == nil {
		b.Payload = map[string]any{}
	}
	t, err := r.s.As(who).Say(ctx, b.Agent, b.Place, b.To, b.Action, b.Thread, b.Payload)
	if err != nil {
		return nil, err
	}
	v, err := threadViewOf(t)
	return &threadOut{v}, err
}

type visitView struct {
	ID           string    `json:"id"`
	Agent        string    `json:"agent"`
	AgentID      string    `json:"agent_id"`
	URL          string    `json:"url"`
	Place        string    `json:"place"`
	Name         string    `json:"name"`
	PlaceKey     string    `json:"place_key,omitempty" doc:"the key the place had when it was first visited"`
	Keep         bool      `json:"keep"`
	Started      time.Time `json:"started_at"`
	Until        time.Time `json:"until"`
	Interactions int       `json:"interactions" doc:"messages in and out so far"`
	Limit        int       `json:"limit" doc:"at so many the visit ends"`
	Warning      string    `json:"warning,omitempty" doc:"why the end is near"`
	Problem      string    `json:"problem,omitempty" doc:"why nothing is sent any more"`
}

func visitViewOf(v skill.Visit) visitView {
	return visitView{
		ID: v.ID, Agent: v.Agent, AgentID: v.AgentID, URL: v.URL, Place: v.Place, Name: visible.Line(v.Name), PlaceKey: visible.Line(v.PlaceKey), Keep: v.Keep,
		Started: v.Started, Until: v.Until, Interactions: v.Interactions, Limit: v.Limit, Warning: v.Warning, Problem: visible.Line(v.Problem),
	}
}

type visitsOut struct {
	Body struct {
		Visits []visitView `json:"visits"`
	}
}

func (r skillRoutes) visits(ctx context.Context, who identity.Actor, _ *struct{}) (*visitsOut, error) {
	out := &visitsOut{}
	out.Body.Visits = []visitView{}
	list, err := r.s.As(who).Visits(ctx)
	for _, v := range list {
		out.Body.Visits = append(out.Body.Visits, visitViewOf(v))
	}
	return out, err
}

type visitIn struct {
	Body struct {
		Agent    string `json:"agent" minLength:"1" maxLength:"64"`
		URL      string `json:"url" minLength:"1" maxLength:"2000"`
		Minutes  int    `json:"minutes,omitempty" minimum:"0" maximum:"1440" doc:"how long (60)"`
		Keep     bool   `json:"keep,omitempty" doc:"stay registered there at the end"`
		Insecure bool   `json:"insecure,omitempty" doc:"allow plain http to another machine"`
	}
}

type visitOut struct{ Body visitView }

func (r skillRoutes) visit(ctx context.Context, who identity.Actor, in *visitIn) (*visitOut, error) {
	b := in.Body
	v, err := r.v.Visit(ctx, who, skill.VisitRequest{Agent: b.Agent, URL: b.URL, For: time.Duration(b.Minutes) * time.Minute, Keep: b.Keep, Insecure: b.Insecure})
	return &visitOut{visitViewOf(v)}, err
}

func (r skillRoutes) endVisit(ctx context.Context, who identity.Actor, in *SkillPath) (*struct{}, error) {
	return nil, r.v.EndVisit(ctx, who, in.ID)
}

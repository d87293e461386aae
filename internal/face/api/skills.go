package api

import (
	"context"
	"time"

	"parley/internal/identity"
	"parley/internal/scan"
	"parley/internal/skill"
	"parley/internal/visible"
	"parley/protocol/mmp/meeting"
)

// RegisterSkills adds what agents exchange with others: skills, exchanges,
// extensions, threads, visits. Nothing here approves: that is the inbox's.
func RegisterSkills(a *API, s *skill.Skills, visits skill.Visits) {
	rt := func(method, path, summary string) route {
		return route{Method: method, Path: path, Scope: identity.Place, Tag: "skills", Summary: summary}
	}
	r := skillRoutes{s, visits}
	add(a, rt("GET", "/api/skills/received", "Skills received from other agents, and our public ones"), r.list)
	add(a, rt("GET", "/api/skills/received/{id}", "One received skill: provenance, findings, preview as text, diff against the version in use"), r.show)
	add(a, rt("POST", "/api/skills/received/{id}/ask", "Put a skill that waits before its person, if nobody was asked yet: a stranger's asks nobody by itself"), r.ask)
	add(a, rt("POST", "/api/skills/received/{id}/revoke", "Take an approved skill out of use"), r.revoke)
	add(a, rt("POST", "/api/skills/received/{id}/public", "Let an approved skill be handed on, or keep it here"), r.publish)
	add(a, rt("GET", "/api/skills/exchanges", "Exchanges, newest first"), r.exchanges)
	add(a, rt("POST", "/api/skills/offer", "Offer a public skill to an agent"), r.offer)
	add(a, rt("POST", "/api/skills/request", "Ask an agent for a skill"), r.request)
	add(a, rt("POST", "/api/skills/introduce", "Introduce an agent of this hub to another"), r.introduce)
	add(a, rt("POST", "/api/skills/note", "Send a plain text to another agent, sealed"), r.note)
	add(a, rt("POST", "/api/skills/exchanges/{id}/accept", "Accept an offer; what comes waits for approval"), r.accept)
	add(a, rt("POST", "/api/skills/exchanges/{id}/decline", "Decline an offer"), r.decline)
	add(a, rt("GET", "/api/skills/extensions", "Extensions: proposed, adopted, promoted, switched off"), r.extensions)
	add(a, rt("POST", "/api/skills/extensions/{hash}", "Switch a promoted extension off or on again"), r.switchExtension)
	add(a, rt("POST", "/api/skills/extensions", "Propose an extension of this hub to an agent"), r.propose)
	add(a, rt("GET", "/api/skills/threads", "Discussions and negotiations"), r.threads)
	add(a, rt("POST", "/api/skills/threads", "Make a move in a discussion or negotiation, or open one; agreeing asks the inbox"), r.say)
	add(a, rt("GET", "/api/place/visits", "Agents of this hub at other places"), r.visits)
	add(a, rt("POST", "/api/place/visits", "Send an agent to another place for a while"), r.visit)
	add(a, rt("DELETE", "/api/place/visits/{id}", "Bring an agent home"), r.endVisit)
}

type skillRoutes struct {
	s *skill.Skills
	v skill.Visits
}

type skillHop struct {
	Agent    string `json:"agent"`
	Verified bool   `json:"verified" doc:"a key we hold signed for this content and the way to here"`
}

// ReceivedSkill is a skill of another agent. Exported, as the REST library skips
// what it embeds otherwise.
type ReceivedSkill struct {
	ID          string         `json:"id"`
	Agent       string         `json:"agent"`
	Name        string         `json:"name,omitempty" doc:"what it is called here, once approved"`
	Title       string         `json:"title"`
	Sender      string         `json:"sender"`
	Place       string         `json:"place,omitempty" doc:"id of the visited place it came by; empty for this hub's own"`
	Level       string         `json:"level"`
	KeyID       string         `json:"key_id,omitempty"`
	Format      string         `json:"format"`
	Hash        string         `json:"hash"`
	HashLong    string         `json:"hash_prefixed"`
	Size        int            `json:"size_bytes"`
	Origin      string         `json:"origin"`
	HopCount    int            `json:"hop_count"`
	Chain       []skillHop     `json:"chain"`
	Findings    []scan.Finding `json:"findings"`
	State       string         `json:"state"`
	Approval    string         `json:"approval_id,omitempty" doc:"the question in the inbox, while it waits"`
	Unsolicited bool           `json:"unsolicited"`
	Public      bool           `json:"public"`
	Received    time.Time      `json:"received_at"`
	Decided     time.Time      `json:"decided_at,omitzero"`
	DecidedBy   string         `json:"decided_by,omitempty"`
	Reason      string         `json:"reason,omitempty"`
	Agents      []string       `json:"agents" doc:"who may use it, once approved; * is every agent that lists it"`
	MayUse      []string       `json:"may_use,omitempty" doc:"the agents an approval may name, while it waits"`
}

func receivedSkillOf(i skill.Item) ReceivedSkill {
	v := ReceivedSkill{
		ID: i.ID, Agent: i.Agent, Name: i.Name, Title: visible.Line(i.Title), Sender: i.Sender, Place: i.Place, Level: string(i.Level), KeyID: i.KeyID, Format: visible.Line(i.Format),
		Hash: i.Hash, HashLong: "sha256:" + i.Hash, Size: i.Size, Origin: i.Provenance.Origin, HopCount: i.Provenance.HopCount, Chain: []skillHop{},
		Findings: []scan.Finding{}, State: string(i.State), Unsolicited: i.Unsolicited, Public: i.Public, Received: i.Received, Decided: i.Decided,
		DecidedBy: i.DecidedBy, Reason: i.Reason, Agents: append([]string{}, i.Agents...),
	}
	for n, agent := range i.Provenance.Chain {
		v.Chain = append(v.Chain, skillHop{Agent: agent, Verified: n < len(i.Verified) && i.Verified[n]})
	}
	v.Findings = append(v.Findings, i.Findings...)
	if i.State == skill.StateQuarantined && i.Asked {
		v.Approval = i.Approval
	}
	return v
}

type skillsQuery struct {
	State string `query:"state" enum:"quarantined,approved,rejected,revoked,replaced" doc:"only in this state"`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"200"`
}

type hostView struct {
	Agent string `json:"agent"`
	ID    string `json:"id"`
}

type skillsOut struct {
	Body struct {
		Skills []ReceivedSkill     `json:"skills"`
		Public []meeting.SkillInfo `json:"public" doc:"what our front agent lists"`
		Agents []hostView          `json:"agents" doc:"the agents one may speak as at the meeting place"`
	}
}

func (r skillRoutes) list(ctx context.Context, who identity.Actor, in *skillsQuery) (*skillsOut, error) {
	out := &skillsOut{}
	out.Body.Skills, out.Body.Public, out.Body.Agents = []ReceivedSkill{}, []meeting.SkillInfo{}, []hostView{}
	items, err := r.s.As(who).List(ctx, skill.ItemState(in.State), in.Limit)
	if err != nil {
		return nil, err
	}
	for _, i := range items {
		out.Body.Skills = append(out.Body.Skills, receivedSkillOf(i))
	}
	hosts, err := r.s.As(who).Hosts(ctx)
	if err != nil {
		return nil, err
	}
	for _, h := range hosts {
		out.Body.Agents = append(out.Body.Agents, hostView{h.Name, h.ID})
	}
	if own, err := r.s.Skills(ctx, ""); err == nil {
		out.Body.Public = append(out.Body.Public, own.Skills...)
	}
	return out, nil
}

// SkillPath names one in the path.
type SkillPath struct {
	ID string `path:"id"`
}

type skillReview struct {
	Body struct {
		ReceivedSkill
		Source string `json:"source" doc:"all that is in it, as it is written, with hidden characters made visible"`
		Diff   string `json:"diff,omitempty" doc:"against the version in use"`
		InUse  string `json:"in_use,omitempty"`
	}
}

func (r skillRoutes) show(ctx context.Context, who identity.Actor, in *SkillPath) (*skillReview, error) {
	review, err := r.s.As(who).Review(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	out := &skillReview{}
	out.Body.ReceivedSkill = receivedSkillOf(review.Item)
	if review.State == skill.StateQuarantined {
		out.Body.MayUse = review.MayUse
	}
	out.Body.Source, out.Body.Diff, out.Body.InUse = review.Source, review.Diff, review.InUse
	return out, nil
}

type skillOut struct{ Body ReceivedSkill }

func (r skillRoutes) ask(ctx context.Context, who identity.Actor, in *SkillPath) (*skillOut, error) {
	item, err := r.s.As(who).Ask(ctx, in.ID)
	return &skillOut{receivedSkillOf(item)}, err
}

type revokeIn struct {
	SkillPath
	Body struct {
		Reason string `json:"reason,omitempty" maxLength:"2000"`
	}
}

func (r skillRoutes) revoke(ctx context.Context, who identity.Actor, in *revokeIn) (*skillOut, error) {
	item, err := r.s.As(who).Revoke(ctx, in.ID, in.Body.Reason)
	return &skillOut{receivedSkillOf(item)}, err
}

type publishIn struct {
	SkillPath
	Body struct {
		Public bool `json:"public"`
	}
}

func (r skillRoutes) publish(ctx context.Context, who identity.Actor, in *publishIn) (*skillOut, error) {
	item, err := r.s.As(who).Publish(ctx, in.ID, in.Body.Public)
	return &skillOut{receivedSkillOf(item)}, err
}

type exchangeView struct {
	ID        string    `json:"id"`
	Agent     string    `json:"agent"`
	Peer      string    `json:"peer"`
	Place     string    `json:"place,omitempty" doc:"empty for this hub's own"`
	Side      string    `json:"side"`
	State     string    `json:"state"`
	SkillID   string    `json:"skill_id"`
	SkillName string    `json:"skill_name"`
	Hash      string    `json:"hash,omitempty"`
	Skill     string    `json:"skill,omitempty" doc:"the received skill"`
	Reason    string    `json:"reason,omitempty"`
	Created   time.Time `json:"created_at"`
	Changed   time.Time `json:"changed_at"`
	Deadline  time.Time `json:"deadline,omitzero"`
}

func exchangeViewOf(e skill.Exchange) exchangeView {
	return exchangeView{
		ID: e.ID, Agent: e.Agent, Peer: e.Peer, Place: e.Place, Side: string(e.Side), State: string(e.State), SkillID: visible.Line(e.SkillID),
		SkillName: visible.Line(e.SkillName), Hash: e.Hash, Skill: e.Item, Reason: visible.Line(e.Reason), Created: e.Created, Changed: e.Changed, Deadline: e.Deadline,
	}
}

type exchangeOut struct{ Body exchangeView }

type exchangesOut struct {
	Body struct {
		Exchanges []exchangeView `json:"exchanges"`
	}
}

type limitQuery struct {
	Limit int `query:"limit" minimum:"1" maximum:"1000" default:"200"`
}

func (r skillRoutes) exchanges(ctx context.Context, who identity.Actor, in *limitQuery) (*exchangesOut, error) {
	out := &exchangesOut{}
	out.Body.Exchanges = []exchangeView{}
	list, err := r.s.As(who).Exchanges(ctx, in.Limit)
	for _, e := range list {
		out.Body.Exchanges = append(out.Body.Exchanges, exchangeViewOf(e))
	}
	return out, err
}

// ToPeer says who speaks to whom, and where.
type ToPeer struct {
	Agent string `json:"agent,omitempty" doc:"our agent (parley)" maxLength:"64"`
	To    string `json:"to" minLength:"1" maxLength:"256"`
	Place string `json:"place,omitempty" doc:"id of the place of a visit; empty for this hub's own" maxLength:"256"`
}

type offerIn struct {
	Body struct {
		ToPeer
		Skill string `json:"skill" minLength:"1" maxLength:"200"`
	}
}

func (r skillRoutes) offer(ctx context.Context, who identity.Actor, in *offerIn) (*exchangeOut, error) {
	e, err := r.s.As(who).Offer(ctx, in.Body.Agent, in.Body.Place, in.Body.Skill, in.Body.To)
	return &exchangeOut{exchangeViewOf(e)}, err
}

type requestIn struct {
	Body struct {
		ToPeer
		SkillID     string `json:"skill_id,omitempty" maxLength:"128"`
		Description string `json:"description,omitempty" maxLength:"2000"`
	}
}

func (r skillRoutes) request(ctx context.Context, who identity.Actor, in *requestIn) (*exchangeOut, error) {
	e, err := r.s.As(who).Request(ctx, in.Body.Agent, in.Body.Place, in.Body.To, meeting.RequestSkillPayload{SkillID: in.Body.SkillID, Description: in.Body.Description})
	return &exchangeOut{exchangeViewOf(e)}, err
}

type introduceIn struct{ Body ToPeer }

func (r skillRoutes) introduce(ctx context.Context, who identity.Actor, in *introduceIn) (*struct{}, error) {
	return nil, r.s.As(who).Introduce(ctx, in.Body.Agent, in.Body.Place, in.Body.To)
}

type noteIn struct {
	Body struct {
		ToPeer
		Text string `json:"text" minLength:"1" maxLength:"16000"`
	}
}

func (r skillRoutes) note(ctx context.Context, who identity.Actor, in *noteIn) (*struct{}, error) {
	return nil, r.s.As(who).SendNote(ctx, in.Body.Agent, in.Body.Place, in.Body.To, in.Body.Text)
}

func (r skillRoutes) accept(ctx context.Context, who identity.Actor, in *SkillPath) (*exchangeOut, error) {
	e, err := r.s.As(who).Accept(ctx, in.ID)
	return &exchangeOut{exchangeViewOf(e)}, err
}

func (r skillRoutes) decline(ctx context.Context, who identity.Actor, in *revokeIn) (*exchangeOut, error) {
	e, err := r.s.As(who).Decline(ctx, in.ID, in.Body.Reason)
	return &exchangeOut{exchangeViewOf(e)}, err
}

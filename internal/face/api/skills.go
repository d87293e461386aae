package api

import (
	"context"

	"parley.internal/internal/identity"
	"parley.internal/internal/scan"
	"parley.internal/internal/skill"
	"parley.internal/internal/visible"
	"parley.internal/protocol/mmp/meeting"
	"parley.internal/protocol/rest"
)

// RegisterSkills adds what agents exchange with others: skills, exchanges,
// extensions, threads, visits. Nothing here approves: that is the inbox's.
func RegisterSkills(a *API, s *skill.Skills, visits skill.Visits) {
	see := access{Scope: identity.Place, Tag: "skills"}
	r := skillRoutes{s, visits}
	add(a, see, rest.ListReceivedSkills, r.list)
	add(a, see, rest.ReviewSkill, r.show)
	add(a, see, rest.AskAboutSkill, r.ask)
	add(a, see, rest.RevokeSkill, r.revoke)
	add(a, see, rest.PublishSkill, r.publish)
	add(a, see, rest.ListExchanges, r.exchanges)
	addBody(a, see, rest.OfferSkill, r.offer)
	addBody(a, see, rest.RequestSkill, r.request)
	addBody(a, see, rest.IntroduceAgent, r.introduce)
	addBody(a, see, rest.SendNote, r.note)
	add(a, see, rest.AcceptExchange, r.accept)
	add(a, see, rest.DeclineExchange, r.decline)
	add(a, see, rest.ListExtensions, r.extensions)
	add(a, see, rest.SwitchExtension, r.switchExtension)
	addBody(a, see, rest.ProposeExtension, r.propose)
	add(a, see, rest.ListThreads, r.threads)
	addBody(a, see, rest.SayInThread, r.say)
	add(a, see, rest.ListVisits, r.visits)
	addBody(a, see, rest.StartVisit, r.visit)
	addBody(a, see, rest.MeetAgent, r.meet)
	add(a, see, rest.EndVisit, r.endVisit)
	add(a, see, rest.ListDeposits, r.deposits)
	add(a, see, rest.ShowDeposit, r.deposit)
	addBody(a, see, rest.AcquireSkill, r.acquire)
	addBody(a, see, rest.AttestSkill, r.attest)
}

type skillRoutes struct {
	s *skill.Skills
	v skill.Visits
}

func receivedSkillOf(i skill.Item) rest.ReceivedSkill {
	v := rest.ReceivedSkill{
		ID: i.ID, Agent: i.Agent, Name: i.Name, Title: visible.Line(i.Title), Sender: i.Sender, Place: i.Place, Level: string(i.Level), KeyID: i.KeyID, Format: visible.Line(i.Format),
		Hash: i.Hash, HashLong: "sha256:" + i.Hash, Size: i.Size, Origin: i.Provenance.Origin, HopCount: i.Provenance.HopCount, Chain: []rest.Hop{},
		Findings: each(i.Findings, findingOf), State: string(i.State), Unsolicited: i.Unsolicited, Public: i.Public, Received: i.Received, Decided: i.Decided,
		DecidedBy: i.DecidedBy, Reason: i.Reason, Agents: append([]string{}, i.Agents...),
	}
	for n, agent := range i.Provenance.Chain {
		v.Chain = append(v.Chain, rest.Hop{Agent: agent, Verified: n < len(i.Verified) && i.Verified[n]})
	}
	if i.State == skill.StateQuarantined && i.Asked {
		v.Approval = i.Approval
	}
	return v
}

func (r skillRoutes) list(ctx context.Context, who identity.Actor, in *rest.ReceivedSkillQuery) (rest.ReceivedSkills, error) {
	items, err := r.s.As(who).List(ctx, skill.ItemState(in.State), in.Limit)
	if err != nil {
		return rest.ReceivedSkills{}, err
	}
	out := rest.ReceivedSkills{Skills: each(items, receivedSkillOf), Public: []meeting.SkillInfo{}, Agents: []rest.HostedAgent{}}
	hosts, err := r.s.As(who).Hosts(ctx)
	if err != nil {
		return rest.ReceivedSkills{}, err
	}
	for _, h := range hosts {
		out.Agents = append(out.Agents, rest.HostedAgent{Agent: h.Name, ID: h.ID})
	}
	if own, err := r.s.Skills(ctx, ""); err == nil {
		out.Public = append(out.Public, own.Skills...)
	}
	return out, nil
}

func (r skillRoutes) show(ctx context.Context, who identity.Actor, in *rest.ByID) (rest.SkillReview, error) {
	review, err := r.s.As(who).Review(ctx, in.ID)
	if err != nil {
		return rest.SkillReview{}, err
	}
	out := rest.SkillReview{ReceivedSkill: receivedSkillOf(review.Item), Source: review.Source, Diff: review.Diff, InUse: review.InUse}
	if review.State == skill.StateQuarantined {
		out.MayUse = review.MayUse
	}
	return out, nil
}

func (r skillRoutes) ask(ctx context.Context, who identity.Actor, in *rest.ByID) (rest.ReceivedSkill, error) {
	item, err := r.s.As(who).Ask(ctx, in.ID)
	return receivedSkillOf(item), err
}

func (r skillRoutes) revoke(ctx context.Context, who identity.Actor, in *rest.WithReason) (rest.ReceivedSkill, error) {
	item, err := r.s.As(who).Revoke(ctx, in.ID, in.Body.Reason)
	return receivedSkillOf(item), err
}

func (r skillRoutes) publish(ctx context.Context, who identity.Actor, in *rest.Publication) (rest.ReceivedSkill, error) {
	item, err := r.s.As(who).Publish(ctx, in.ID, in.Body.Public)
	return receivedSkillOf(item), err
}

func findingOf(f scan.Finding) rest.Finding {
	return rest.Finding{Rule: f.Rule, Family: f.Family, Severity: string(f.Severity), Line: f.Line, Text: f.Text, Excerpt: f.Excerpt, More: f.More}
}

func exchangeViewOf(e skill.Exchange) rest.Exchange {
	return rest.Exchange{
		ID: e.ID, Agent: e.Agent, Peer: e.Peer, Place: e.Place, Side: string(e.Side), State: string(e.State), SkillID: visible.Line(e.SkillID),
		SkillName: visible.Line(e.SkillName), Hash: e.Hash, Skill: e.Item, Reason: visible.Line(e.Reason), Created: e.Created, Changed: e.Changed, Deadline: e.Deadline,
	}
}

func (r skillRoutes) exchanges(ctx context.Context, who identity.Actor, in *rest.SkillLimit) (rest.Exchanges, error) {
	list, err := r.s.As(who).Exchanges(ctx, in.Limit)
	return rest.Exchanges{Exchanges: each(list, exchangeViewOf)}, err
}

func (r skillRoutes) offer(ctx context.Context, who identity.Actor, in *rest.SkillOffer) (rest.Exchange, error) {
	e, err := r.s.As(who).Offer(ctx, in.Agent, in.Place, in.Skill, in.To)
	return exchangeViewOf(e), err
}

func (r skillRoutes) request(ctx context.Context, who identity.Actor, in *rest.SkillRequest) (rest.Exchange, error) {
	e, err := r.s.As(who).Request(ctx, in.Agent, in.Place, in.To, meeting.RequestSkillPayload{SkillID: in.SkillID, Description: in.Description})
	return exchangeViewOf(e), err
}

func (r skillRoutes) introduce(ctx context.Context, who identity.Actor, in *rest.ToPeer) (rest.None, error) {
	return rest.None{}, r.s.As(who).Introduce(ctx, in.Agent, in.Place, in.To)
}

func (r skillRoutes) note(ctx context.Context, who identity.Actor, in *rest.Note) (rest.None, error) {
	return rest.None{}, r.s.As(who).SendNote(ctx, in.Agent, in.Place, in.To, in.Text)
}

func (r skillRoutes) accept(ctx context.Context, who identity.Actor, in *rest.ByID) (rest.Exchange, error) {
	e, err := r.s.As(who).Accept(ctx, in.ID)
	return exchangeViewOf(e), err
}

func (r skillRoutes) decline(ctx context.Context, who identity.Actor, in *rest.WithReason) (rest.Exchange, error) {
	e, err := r.s.As(who).Decline(ctx, in.ID, in.Body.Reason)
	return exchangeViewOf(e), err
}

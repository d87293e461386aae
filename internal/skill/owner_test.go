package skill_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"parley.internal/internal/approval"
	"parley.internal/internal/identity"
	"parley.internal/internal/skill"
	"parley.internal/protocol/mmp/meeting"
)

// everyday is a person with the everyday scopes alone.
func everyday(id string) identity.Actor {
	return identity.Actor{Person: identity.Principal{Kind: identity.KindPerson, ID: id, Name: id}, Scopes: identity.Expand("*")}
}

// Every skill, exchange, thread and visit was everybody's who had the scope "place": they
// read it, took it out of use, handed it on to others, and spoke as any agent.
func TestWhatAnAgentHasWithOthersIsItsPersonsAlone(t *testing.T) {
	w := newWorld(t)
	theirs, hubs := w.add("ada", skill.Config{}), w.add("parley", skill.Config{})
	theirs.persons = map[string]string{"ada": "alice"}
	for _, s := range []*side{theirs, hubs} {
		s.own = []skill.Own{tea(text)}
		s.take(proven("peer"), mustMessage(t, w, s, meeting.ActionSkillContent, content("Tea", text, nil)))
		s.say(proven("peer"), meeting.ActionPropose, map[string]any{"title": "Tea?"}, "")
		if _, err := s.BeginVisit(t.Context(), "hub", skill.Visit{Agent: s.host.Name, AgentID: s.host.ID, Place: "there"}, 0); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []*side{theirs, hubs} {
		reachesNothing(t, s, everyday("bob"))
	}
	reachesNothing(t, hubs, everyday("alice"))

	alice := theirs.As(everyday("alice"))
	items, err := alice.List(t.Context(), "", 10)
	if err != nil || len(items) != 1 {
		t.Fatalf("alice finds the skills %+v (%v), expected what came for her agent", items, err)
	}
	if visits, err := alice.Visits(t.Context()); err != nil || len(visits) != 1 {
		t.Errorf("alice finds the visits %+v (%v), expected that of her agent", visits, err)
	}
	if _, err := alice.Review(t.Context(), items[0].ID); err != nil {
		t.Errorf("alice looks at what came for her agent: %v", err)
	}
	if err := alice.AskEnd(t.Context(), "ada@there"); err != nil {
		t.Errorf("alice brings her agent home: %v", err)
	}
	if _, err := alice.Offer(t.Context(), "ada", "", "tea", "peer"); err != nil {
		t.Errorf("alice speaks as her agent: %v", err)
	}
}

func mustMessage(t *testing.T, w *world, s *side, action string, payload any) meeting.Message {
	t.Helper()
	m, err := meeting.NewMessage(action, "peer", s.host.ID, payload, w.now)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// reachesNothing tries everything there is of an agent that is not the actor's.
func reachesNothing(t *testing.T, s *side, who identity.Actor) {
	t.Helper()
	ctx, a, of := t.Context(), s.As(who), who.Person.Name+" at "+s.host.Name
	item := s.only()
	items, err1 := a.List(ctx, "", 10)
	exchanges, err2 := a.Exchanges(ctx, 10)
	threads, err3 := a.Threads(ctx, 10)
	visits, err4 := a.Visits(ctx)
	hosts, err5 := a.Hosts(ctx)
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		t.Fatal(err)
	}
	if len(items)+len(exchanges)+len(threads)+len(visits)+len(hosts) > 0 {
		t.Errorf("%s sees what is not theirs: %+v %+v %+v %+v %+v", of, items, exchanges, threads, visits, hosts)
	}
	_, get := a.Get(ctx, item.ID)
	_, review := a.Review(ctx, item.ID)
	_, ask := a.Ask(ctx, item.ID)
	_, revoke := a.Revoke(ctx, item.ID, "")
	_, publish := a.Publish(ctx, item.ID, true)
	_, accept := a.Accept(ctx, item.Exchange)
	_, flip := a.SwitchExtension(ctx, item.Hash, false)
	for what, err := range map[string]error{
		"get": get, "review": review, "ask about": ask, "revoke": revoke, "publish": publish, "accept": accept, "switch": flip, "end": a.AskEnd(ctx, s.host.Name+"@there"),
	} {
		if !errors.Is(err, skill.ErrNotFound) {
			t.Errorf("%s may not %s what is not theirs, and it must look as if it were not there: %v", of, what, err)
		}
	}
	for _, name := range []string{s.host.Name, s.host.ID, ""} {
		_, offer := a.Offer(ctx, name, "", "tea", "peer")
		_, request := a.Request(ctx, name, "", "peer", meeting.RequestSkillPayload{SkillID: "x"})
		_, say := a.Say(ctx, name, "", "peer", meeting.ActionPropose, "", map[string]any{"title": "x"})
		_, agree := a.Say(ctx, name, "", "peer", meeting.ActionAgree, "x", nil)
		for what, err := range map[string]error{
			"offers": offer, "requests": request, "discusses": say, "agrees": agree, "writes": a.SendNote(ctx, name, "", "peer", "x"), "introduces": a.Introduce(ctx, name, "", "peer"),
		} {
			if !errors.Is(err, skill.ErrNoAgent) {
				t.Errorf("%s %s as %q: %v", of, what, name, err)
			}
		}
	}
}

// An approval names the agents that may use a skill. One person's yes put a stranger's text
// before everybody's agents.
func TestAYesPutsASkillBeforeOnesOwnAgentsOnly(t *testing.T) {
	for name, answer := range map[string]string{"every agent": skill.EveryAgent, "the star": "*", "somebody else's": "parley,ada", "nobody's": ""} {
		w := newWorld(t)
		s := w.add("ada", skill.Config{})
		s.persons, s.agents = map[string]string{"ada": "alice", "eve": "alice"}, []string{"ada", "eve", "parley"}
		s.take(proven("peer"), mustMessage(t, w, s, meeting.ActionSkillContent, content("Tea", text, nil)))
		review, err := s.Review(t.Context(), s.only().ID)
		if err != nil || !slices.Equal(review.MayUse, []string{"ada", "eve"}) {
			t.Errorf("the approval may name %v (%v), expected alice's agents", review.MayUse, err)
		}
		s.decide(s.only().ID, approval.Outcome{State: approval.StateApproved, By: "person:alice", Answers: []string{answer}})
		got := s.only()
		if got.State != skill.StateApproved || slices.Contains(got.Agents, "parley") || got.Named() == nil {
			t.Errorf("%s: the skill is %s for %v, expected alice's agents alone", name, got.State, got.Agents)
		}
	}
}

// Questions about an agent's things go to whose they are.
func TestThePersonOfAnAgentIsAskedAboutWhatItReceives(t *testing.T) {
	w := newWorld(t)
	s := w.add("ada", skill.Config{})
	s.persons = map[string]string{"ada": "alice"}
	s.take(proven("peer"), mustMessage(t, w, s, meeting.ActionSkillContent, content("Tea", text, nil)))
	waiting, err := s.inbox.List(t.Context(), approval.Filter{Principal: "alice"})
	if err != nil || len(waiting) != 1 || !strings.Contains(waiting[0].Title, "Tea") {
		t.Errorf("alice is asked %+v (%v), expected the skill her agent got", waiting, err)
	}
}

package skill_test

import (
	"testing"
	"time"

	"parley.internal/internal/approval"
	"parley.internal/internal/identity"
	"parley.internal/internal/skill"
	"parley.internal/protocol/mmp/meeting"
)

func (s *side) thread(id string) skill.Thread {
	s.w.t.Helper()
	all, err := s.Threads(s.w.t.Context(), 100)
	if err != nil {
		s.w.t.Fatal(err)
	}
	for _, th := range all {
		if th.ID == id {
			return th
		}
	}
	s.w.t.Fatalf("no thread %s", id)
	return skill.Thread{}
}

func TestADiscussionFromProposalToSynthesis(t *testing.T) {
	w := newWorld(t)
	ada, bob := w.add("ada", skill.Config{}), w.add("bob", skill.Config{})
	ctx := t.Context()
	th, err := ada.Say(ctx, "ada", "", "bob-id", meeting.ActionPropose, "", map[string]any{"title": "Tea at five"})
	if err != nil {
		t.Fatal(err)
	}
	w.pump()
	if _, err := bob.Say(ctx, "bob", "", "ada-id", meeting.ActionOppose, th.ID, map[string]any{"reason": "too late"}); err != nil {
		t.Fatal(err)
	}
	if _, err := bob.Say(ctx, "bob", "", "ada-id", meeting.ActionSupport, th.ID, map[string]any{"reason": "well then"}); err != nil {
		t.Fatal(err)
	}
	w.pump()
	if support, oppose := ada.thread(th.ID).Discussion.Count(); support != 1 || oppose != 0 {
		t.Errorf("%d for, %d against: the latest word counts", support, oppose)
	}
	if r := ada.say(proven("eve"), meeting.ActionSupport, map[string]any{}, th.ID); r.Fields["error_code"] != meeting.CodeInvalidPayload {
		t.Errorf("somebody who was not asked: %+v", r)
	}
	if _, err := ada.Say(ctx, "ada", "", "bob-id", meeting.ActionSynthesize, th.ID, map[string]any{"summary": "at five", "outcome": "agreed"}); err != nil {
		t.Fatal(err)
	}
	w.pump()
	for _, s := range []*side{ada, bob} {
		if got := s.thread(th.ID); got.State != meeting.ThreadClosed {
			t.Errorf("%s: %+v; want got.State to be %v", s.host.Name, got, meeting.ThreadClosed)
		}
	}
	if _, err := bob.Say(ctx, "bob", "", "ada-id", meeting.ActionOppose, th.ID, map[string]any{}); err == nil {
		t.Error("a closed discussion went on")
	}
}

func TestANegotiationWaitsForAPersonBeforeItAgrees(t *testing.T) {
	w := newWorld(t)
	ada, bob := w.add("ada", skill.Config{}), w.add("bob", skill.Config{})
	ctx := t.Context()
	th, err := ada.Say(ctx, "ada", "", "bob-id", meeting.ActionOffer, "", map[string]any{"terms": map[string]any{"cups": 2}})
	if err != nil {
		t.Fatal(err)
	}
	w.pump()
	if _, err := ada.Say(ctx, "ada", "", "bob-id", meeting.ActionCounter, th.ID, map[string]any{"terms": map[string]any{"cups": 3}}); err == nil {
		t.Error("a party spoke twice")
	}
	if _, err := bob.Say(ctx, "bob", "", "ada-id", meeting.ActionCounter, th.ID, map[string]any{"terms": map[string]any{"cups": 1}}); err != nil {
		t.Fatal(err)
	}
	w.pump()
	if err := ada.Start(ctx); err != nil {
		t.Fatal(err)
	}
	asked, err := ada.Say(ctx, "ada", "", "bob-id", meeting.ActionAgree, th.ID, nil)
	if err != nil || asked.State != meeting.ThreadOpen || asked.Approval == "" {
		t.Fatalf("%+v %v; want no error, asked.State to be %v, asked.Approval not to be \"\"", asked, err, meeting.ThreadOpen)
	}
	if got := bob.thread(th.ID); got.State != meeting.ThreadOpen {
		t.Error("agreed without a person")
	}
	owner := identity.Actor{Person: identity.Principal{Kind: identity.KindPerson, ID: "owner"}, Scopes: identity.Expand(identity.ApprovalRespond)}
	if _, err := ada.inbox.Answer(ctx, owner, asked.Approval, approval.Answer{Approved: true}); err != nil {
		t.Fatal(err)
	}
	for bob.thread(th.ID).State != meeting.ThreadAgreed {
		select {
		case <-ctx.Done():
			t.Fatal("the agreement never arrived")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func TestIllegalMovesChangeNothingAndIdleThreadsExpire(t *testing.T) {
	w := newWorld(t)
	bob := w.add("bob", skill.Config{})
	m, err := meeting.NewMessage(meeting.ActionOffer, "ada", "bob-id", map[string]any{"terms": map[string]any{"cups": 2}}, w.now)
	if err != nil {
		t.Fatal(err)
	}
	bob.take(proven("ada"), m)
	for _, c := range []struct {
		from, action string
		payload      map[string]any
		reply        string
	}{
		{"ada", meeting.ActionAgree, map[string]any{"terms_hash": bob.thread(m.ID).Negotiation.TermsHash}, m.ID},
		{"eve", meeting.ActionAgree, map[string]any{"terms_hash": bob.thread(m.ID).Negotiation.TermsHash}, m.ID},
		{"ada", meeting.ActionCounter, map[string]any{"terms": map[string]any{}}, m.ID},
		{"ada", meeting.ActionWithdraw, map[string]any{}, "msg_nowhere"},
		{"ada", meeting.ActionSupport, map[string]any{}, m.ID},
	} {
		if r := bob.say(proven(c.from), c.action, c.payload, c.reply); r.Fields["error_code"] != meeting.CodeInvalidPayload {
			t.Errorf("%s by %s: %+v", c.action, c.from, r)
		}
		if got := bob.thread(m.ID); got.State != meeting.ThreadOpen {
			t.Errorf("after %s: %s", c.action, got.State)
		}
	}
	w.now = w.now.Add(25 * time.Hour)
	bob.sweep()
	if got := bob.thread(m.ID); got.State != meeting.ThreadExpired {
		t.Errorf("idle for a day: %s", got.State)
	}
}

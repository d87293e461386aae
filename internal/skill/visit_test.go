package skill_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"parley.internal/internal/approval"
	"parley.internal/internal/skill"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/protocol/mmp/meeting"
)

// free is a guard that lets everything through.
type free struct{}

func (free) Check(*store.Tx) error { return nil }

func (s *side) begin(place string) skill.Visit {
	s.w.t.Helper()
	v, err := s.BeginVisit(s.w.t.Context(), "person:owner", skill.Visit{Agent: s.host.Name, AgentID: s.host.ID, URL: "https://" + place, Place: place, Name: place}, time.Hour)
	if err != nil {
		s.w.t.Fatal(err)
	}
	return v
}

func (s *side) interacted(v skill.Visit, n int) skill.Visit {
	s.w.t.Helper()
	v, err := s.Interacted(s.w.t.Context(), free{}, v.ID, n)
	if err != nil {
		s.w.t.Fatal(err)
	}
	return v
}

func TestAVisitIsWarnedAboutAndEndsByTimeOrByMessages(t *testing.T) {
	w := newWorld(t)
	bob := w.add("bob", skill.Config{})
	v := bob.begin("tea-house")
	w.now = w.now.Add(47 * time.Minute)
	if got := bob.interacted(v, 1); got.Warning != "" || got.Over(w.now) != "" {
		t.Errorf("early: %+v", got)
	}
	w.now = w.now.Add(time.Minute) // four fifths
	for range 3 {
		if got := bob.interacted(v, 0); got.Warning == "" || got.Over(w.now) != "" {
			t.Errorf("at 80 %%: %+v", got)
		}
	}
	if got := bob.waiting(); len(got) != 1 {
		t.Errorf("warned %d times", len(got))
	}
	w.now = w.now.Add(12 * time.Minute)
	last := bob.interacted(v, 0)
	if last.Over(w.now) != meeting.GoodbyeTimeout {
		t.Errorf("at the end: %+v", last)
	}
	if err := bob.EndedVisit(t.Context(), free{}, last, "timeout"); err != nil {
		t.Fatal(err)
	}
	if all, err := bob.Visits(t.Context()); err != nil || len(all) != 0 || len(bob.waiting()) != 0 {
		t.Errorf("after it: %v, %d questions, %v", all, len(bob.waiting()), err)
	}

	v = bob.begin("tea-house")
	if got := bob.interacted(v, 39); got.Warning != "" {
		t.Errorf("39 messages: %+v", got)
	}
	if got := bob.interacted(v, 1); got.Warning == "" || got.Over(w.now) != "" {
		t.Errorf("40 messages: %+v", got)
	}
	if got := bob.interacted(v, 10); got.Over(w.now) != meeting.GoodbyeSessionComplete {
		t.Errorf("50 messages: %+v", got)
	}
}

func TestFiveVisitsAtOnceAndAPersonEndsThem(t *testing.T) {
	w := newWorld(t)
	bob := w.add("bob", skill.Config{})
	for _, place := range []string{"a", "b", "c", "d", "e", "e"} { // the last one begins anew
		bob.begin(place)
	}
	_, err := bob.BeginVisit(t.Context(), "person:owner", skill.Visit{Agent: "bob", Place: "f"}, time.Hour)
	if !errors.Is(err, skill.ErrInvalid) {
		t.Errorf("a sixth: %v", err)
	}
	// They are there after a restart.
	bob.open(skill.Config{})
	all, err := bob.Visits(t.Context())
	if err != nil || len(all) != 5 {
		t.Fatalf("%v %v; want no error, len(all) to be 5", all, err)
	}
	if err := bob.AskEnd(t.Context(), all[0].ID); err != nil {
		t.Fatal(err)
	}
	if got := bob.interacted(all[0], 0); got.Over(w.now) != meeting.GoodbyeUserRequest {
		t.Errorf("%+v; want got.Over(w.now) to be %v", got, meeting.GoodbyeUserRequest)
	}
	if err := bob.AskEnd(t.Context(), "nothing"); !errors.Is(err, skill.ErrNotFound) {
		t.Error(err)
	}
}

func TestGoodbyeIsSaidToWhomTheAgentMetThere(t *testing.T) {
	w := newWorld(t)
	ada, bob := w.add("ada", skill.Config{}), w.add("bob", skill.Config{})
	ada.Join(ada.host, "tea-house", line{ada})
	v := ada.begin("tea-house")
	if err := ada.Introduce(t.Context(), "ada", "tea-house", "bob-id"); err != nil {
		t.Fatal(err)
	}
	if err := ada.Introduce(t.Context(), "ada", "", "carl-id"); err != nil { // at home
		t.Fatal(err)
	}
	ada.Farewell(t.Context(), v, meeting.GoodbyeTimeout)
	var to []string
	for _, m := range w.sent {
		if m.Action == meeting.ActionGoodbye {
			to = append(to, m.Recipient())
		}
	}
	if !slices.Equal(to, []string{"bob-id"}) {
		t.Errorf("goodbye to %v", to)
	}
	h, err := bob.History(t.Context(), "", meeting.HistoryQuery{Limit: 10})
	if err != nil || len(h.Interactions) == 0 {
		t.Fatalf("%+v %v; want no error, len(h.Interactions) not to be 0", h, err)
	}
}

func TestAPlaceWithAnotherKeyIsAnAlarmUntilAPersonAcceptsIt(t *testing.T) {
	w := newWorld(t)
	bob := w.add("bob", skill.Config{})
	v := bob.begin("tea-house")
	ctx := t.Context()
	for range 2 {
		if err := bob.CheckPlace(ctx, v.URL, "tea-house", "ed25519:first"); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		if err := bob.CheckPlace(ctx, v.URL, "tea-house", "ed25519:second"); !errors.Is(err, skill.ErrPlaceChanged) {
			t.Fatalf("another key: %v", err)
		}
	}
	if err := bob.CheckPlace(ctx, "https://elsewhere", "tea-house", "ed25519:second"); err != nil {
		t.Errorf("another address: %v", err)
	}
	asked := bob.waiting()
	if len(asked) != 1 || asked[0].Kind != approval.KindNote {
		t.Fatalf("%+v; want len(asked) to be 1, asked[0].Kind to be %v", asked, approval.KindNote)
	}
	all, err := bob.Visits(ctx)
	if err != nil || len(all) != 1 || all[0].Problem == "" || all[0].PlaceKey != "ed25519:first" {
		t.Fatalf("the visit: %+v %v", all, err)
	}
	// No is no, also when the hub asks itself again.
	if err := bob.CheckPlace(ctx, v.URL, "tea-house", "ed25519:first"); err != nil {
		t.Errorf("the key it had: %v", err)
	}
	bob.say1(asked[0].ID, true)
	bob.open(skill.Config{})
	if err := bob.Start(ctx); err != nil {
		t.Fatal(err)
	}
	bob.until("the new key is accepted", func() bool {
		return bob.CheckPlace(ctx, v.URL, "tea-house", "ed25519:second") == nil
	})
	if all, err := bob.Visits(ctx); err != nil || len(all) != 1 || all[0].Problem != "" {
		t.Errorf("the visit goes on: %+v %v", all, err)
	}
	if err := bob.CheckPlace(ctx, v.URL, "tea-house", "ed25519:first"); !errors.Is(err, skill.ErrPlaceChanged) {
		t.Errorf("the old key: %v", err)
	}
}

func TestAnApprovalNamesTheAgentsThatMayUseTheSkill(t *testing.T) {
	w := newWorld(t)
	bob := w.add("bob", skill.Config{})
	bob.agents = []string{"bob", "carl", "dora"}
	for name, c := range map[string]struct {
		answers []string
		want    []string
	}{
		"nobody named":   {nil, []string{"bob"}},
		"two":            {[]string{"bob, carl"}, []string{"bob", "carl"}},
		"everybody":      {[]string{"carl, every agent"}, []string{"*"}},
		"blanks only":    {[]string{" , "}, []string{"bob"}},
		"somebody twice": {[]string{"dora,dora"}, []string{"dora"}},
	} {
		bob.say(w.trustedPeer("zoe-"+name[:3]), meeting.ActionSkillContent, content("Tea "+name, text+name, nil), "")
		item := bob.items()[0]
		asked := bob.waiting()[0]
		if len(asked.Questions) != 1 || !asked.Questions[0].MultiSelect || len(asked.Questions[0].Options) != 4 {
			t.Fatalf("%s: asked %+v", name, asked.Questions)
		}
		o := yes
		o.Answers = c.answers
		bob.decide(item.ID, o)
		got, err := bob.Get(t.Context(), item.ID)
		if err != nil || got.State != skill.StateApproved || !slices.Equal(got.Agents, c.want) {
			t.Errorf("%s: %v, want %v (%v)", name, got.Agents, c.want, err)
		}
		bob.say1(asked.ID, true)
		w.now = w.now.Add(time.Second)
	}
	// A newer version holds for the same agents, unless others are named.
	old := bob.items()[0]
	bob.say(proven("zoe-x"), meeting.ActionIntroduce, map[string]any{}, "")
	next := content(old.Title, text+"newer", &meeting.Provenance{Origin: old.Provenance.Origin, Chain: []string{old.Provenance.Origin}})
	bob.say(w.trustedPeer(old.Sender), meeting.ActionSkillContent, next, "")
	bob.decide(bob.items()[0].ID, yes)
	if got := bob.items()[0]; !slices.Equal(got.Agents, old.Agents) {
		t.Errorf("the newer: %v, the older: %v", got.Agents, old.Agents)
	}
}

func TestVisitsPinsAndNotesOnBothDatabases(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newWorld(t)
		bob := w.addOn("bob", skill.Config{}, db)
		v := bob.begin("tea-house")
		if err := bob.CheckPlace(t.Context(), v.URL, "tea-house", "ed25519:first"); err != nil {
			t.Fatal(err)
		}
		if got := bob.interacted(v, 40); got.Warning == "" || got.PlaceKey != "ed25519:first" {
			t.Errorf("%+v; want got.Warning not to be \"\", got.PlaceKey to be \"ed25519:first\"", got)
		}
		bob.note(w.trustedPeer("zoe"), "relay_1", "tea")
		bob.note(proven("one"), "relay_2", "tea")
		if got := bob.was(); !slices.Equal(got, []string{"zoe L0 tea"}) {
			t.Errorf("read %q", got)
		}
		bob.Farewell(t.Context(), v, meeting.GoodbyeTimeout)
		if err := bob.CheckPlace(t.Context(), v.URL, "tea-house", "ed25519:second"); !errors.Is(err, skill.ErrPlaceChanged) {
			t.Errorf("%v; want skill.ErrPlaceChanged", err)
		}
		bob.sweep()
		if err := bob.AskEnd(t.Context(), v.ID); err != nil {
			t.Fatal(err)
		}
		if err := bob.EndedVisit(t.Context(), free{}, v, "user_request"); err != nil {
			t.Fatal(err)
		}
		if all, err := bob.Visits(t.Context()); err != nil || len(all) != 0 {
			t.Errorf("%+v %v; want no error, len(all) to be 0", all, err)
		}
	})
}

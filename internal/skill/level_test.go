package skill_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"parley.internal/internal/place"
	"parley.internal/internal/skill"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/meeting"
)

func TestEachLevelMayDoWhatItMayAndNoMore(t *testing.T) {
	offer := map[string]any{"skill_id": "x", "skill_name": "X", "skill_format": "markdown"}
	for name, c := range map[string]struct {
		action     string
		payload    any
		l0, l1, l2 string // status, or the code of an error
	}{
		"introduce":   {meeting.ActionIntroduce, map[string]any{"extensions": []string{"skill_exchange"}}, "received", "received", "received"},
		"goodbye":     {meeting.ActionGoodbye, map[string]any{"reason": "session_complete"}, "received", "received", "received"},
		"request":     {meeting.ActionRequestSkill, map[string]any{"skill_id": "tea"}, "received", "received", "received"},
		"offer":       {meeting.ActionOfferSkill, offer, "received", "received", "policy_violation"},
		"content":     {meeting.ActionSkillContent, content("Tea", text, nil), "received", "received", "policy_violation"},
		"discussion":  {meeting.ActionPropose, map[string]any{"title": "Tea?"}, "received", "received", "unauthorized"},
		"negotiation": {meeting.ActionOffer, map[string]any{"terms": map[string]any{"cups": 2}}, "received", "received", "unauthorized"},
		"extension": {meeting.ActionProposeExtension, map[string]any{
			"extension_name": "org.example.tea", "extension_version": "1.0.0", "actions": []string{"pour"}, "content_hash": mmp.HashOf("x").Prefixed(),
		}, "interested", "interested", "unauthorized"},
	} {
		w := newWorld(t)
		bob := w.add("bob", skill.Config{})
		bob.own = []skill.Own{tea(text)}
		for level, sender := range map[string]place.Sender{"L0": w.trustedPeer("zero"), "L1": proven("one"), "L2": stranger("two")} {
			want := map[string]string{"L0": c.l0, "L1": c.l1, "L2": c.l2}[level]
			r := bob.say(sender, c.action, c.payload, "")
			got := r.Status
			if reason, ok := r.Fields["reason"].(string); ok && got != meeting.ResultReceived {
				got = reason
			}
			if code, ok := r.Fields["error_code"].(meeting.ErrorCode); ok {
				got = string(code)
			}
			if got != want {
				t.Errorf("%s by %s: %s, want %s", name, level, got, want)
			}
		}
	}
}

func TestStrangersAskFiveTimesADay(t *testing.T) {
	w := newWorld(t)
	bob := w.add("bob", skill.Config{})
	ask := func(from place.Sender) string {
		r := bob.say(from, meeting.ActionRequestSkill, map[string]any{"skill_id": "tea"}, "")
		if code, ok := r.Fields["error_code"].(meeting.ErrorCode); ok {
			return string(code)
		}
		return r.Status
	}
	for i := range 5 {
		if got := ask(stranger("eve")); got != meeting.ResultReceived {
			t.Fatalf("%d: %s; want %v", i, got, meeting.ResultReceived)
		}
	}
	if got := ask(stranger("eve")); got != "rate_limited" {
		t.Errorf("the sixth: %s", got)
	}
	if got := ask(proven("ada")); got != meeting.ResultReceived {
		t.Errorf("a proven one: %s", got)
	}
	w.now = w.now.Add(25 * time.Hour)
	if got := ask(stranger("eve")); got != meeting.ResultReceived {
		t.Errorf("the next day: %s", got)
	}
}

func TestAProvenPeerHasTenQuestionsADayAndTwentySkillsWaiting(t *testing.T) {
	w := newWorld(t)
	bob := w.add("bob", skill.Config{})
	send := func(from place.Sender, n int) string {
		r := bob.say(from, meeting.ActionSkillContent, content("Tea", fmt.Sprintf("%s %d", text, n), nil), "")
		reason, _ := r.Fields["reason"].(string)
		return reason
	}
	taken := 0
	for day := range 3 {
		for n := range 12 {
			if send(proven("ada"), day*100+n) == "" {
				taken++
			}
		}
		w.now = w.now.Add(25 * time.Hour)
	}
	if taken != 20 { // ten, ten, and then twenty wait
		t.Errorf("%d skills of a proven peer were taken", taken)
	}
	for n := range 25 {
		if got := send(w.trustedPeer("zoe"), 1000+n); got != "" {
			t.Fatalf("a trusted peer's %d: %s", n, got)
		}
	}
}

func TestOnlyASignatureOrAChallengeMakesAPeerTrusted(t *testing.T) {
	w := newWorld(t)
	bob := w.add("bob", skill.Config{})
	w.trusted["sha256:k"] = true
	for i, c := range []struct {
		from  place.Sender
		proof string
		want  skill.Level
	}{
		{place.Sender{Proven: true, Version: 2, KeyID: "sha256:k"}, "static", skill.L0},
		{place.Sender{Proven: true, Direct: true, KeyID: "sha256:k"}, "challenge", skill.L0},
		{place.Sender{Proven: true, Direct: true, KeyID: "sha256:k"}, "static", skill.L1},
		{place.Sender{Proven: true, Version: 1, KeyID: "sha256:k"}, "challenge", skill.L1},
		{place.Sender{Proven: true, Version: 1}, "challenge", skill.L1},
	} {
		c.from.ID, w.proof = fmt.Sprintf("peer-%d", i), c.proof
		bob.say(c.from, meeting.ActionSkillContent, content("Tea", fmt.Sprintf("%s %d", text, i), nil), "")
		if got := bob.items()[0]; got.Sender != c.from.ID || got.Level != c.want {
			t.Errorf("%+v by %s: %s, want %s", c.from, c.proof, got.Level, c.want)
		}
		w.now = w.now.Add(time.Second)
	}
}

func TestAChangedKeyMakesAStrangerUntilAPersonLooks(t *testing.T) {
	w := newWorld(t)
	bob := w.add("bob", skill.Config{})
	bob.say(proven("ada"), meeting.ActionIntroduce, map[string]any{}, "")
	other := proven("ada")
	other.KeyID = "sha256:another"
	w.trusted[other.KeyID] = true // even a trusted key is another than the one she had
	if r := bob.say(other, meeting.ActionPropose, map[string]any{"title": "x"}, ""); r.Status != meeting.ResultError {
		t.Errorf("%+v; want r.Status to be %v", r, meeting.ResultError)
	}
	waiting, err := bob.inbox.Waiting(t.Context(), "owner")
	if err != nil || waiting != 1 {
		t.Errorf("%d questions: %v", waiting, err)
	}
	bob.say(other, meeting.ActionPropose, map[string]any{"title": "x"}, "")
	if waiting, err := bob.inbox.Waiting(t.Context(), "owner"); err != nil || waiting != 1 {
		t.Errorf("asked again: %d %v", waiting, err)
	}
	if r := bob.say(proven("ada"), meeting.ActionPropose, map[string]any{"title": "x"}, ""); r.Status != meeting.ResultReceived {
		t.Errorf("the key she had: %+v", r)
	}
}

func TestUnknownActionsGetAnErrorAndTheCoreStays(t *testing.T) {
	w := newWorld(t)
	bob := w.add("bob", skill.Config{})
	r := bob.say(proven("ada"), "debate", map[string]any{}, "")
	m, ready := r.Answer()
	if r.Status != meeting.ResultError || !ready || m.Action != meeting.ActionError || r.Fields["message"] != "Unknown action: debate" {
		t.Errorf("%+v; want r.Status to be %v, ready, m.Action to be %v, r.Fields[\"message\"] to be \"Unknown action: debate\"", r, meeting.ResultError, meeting.ActionError)
	}
	e, err := m.ReadError()
	if err != nil || e.ErrorCode != meeting.CodeUnsupportedAction || !e.Recoverable {
		t.Errorf("%+v %v; want no error, e.ErrorCode to be %v, e.Recoverable", e, err, meeting.CodeUnsupportedAction)
	}
	in, _, err := bob.Introduction(t.Context(), "")
	for _, action := range meeting.CoreActions() {
		if err != nil || !slices.Contains(in.Capabilities.SupportedActions, action) {
			t.Errorf("%s is missing: %v", action, err)
		}
	}
	other, err := meeting.NewMessage(meeting.ActionIntroduce, "ada", "", map[string]any{}, w.now)
	if err != nil {
		t.Fatal(err)
	}
	other.ProtocolVersion = "2.0.0"
	if r := bob.take(proven("ada"), other); r.Fields["error_code"] != meeting.CodeVersionMismatch {
		t.Errorf("%+v; want r.Fields[\"error_code\"] to be %v", r, meeting.CodeVersionMismatch)
	}
}

func TestErrorsGoodbyesAndAnswersAreNotAnsweredInCircles(t *testing.T) {
	w := newWorld(t)
	ada, bob := w.add("ada", skill.Config{}), w.add("bob", skill.Config{})
	if err := ada.Introduce(t.Context(), "ada", "", "bob-id"); err != nil {
		t.Fatal(err)
	}
	w.pump() // which fails when it does not end
	if len(w.sent) != 2 {
		t.Errorf("an introduction and its answer: %v", w.actions())
	}
	w.sent = nil
	from := place.Sender{ID: "ada-id", Proven: true, Version: 2}
	for i, action := range []string{meeting.ActionError, meeting.ActionGoodbye, "debate", "debate"} {
		m, err := meeting.NewMessage(action, "ada-id", "bob-id", map[string]any{"reason": "x"}, w.now)
		if err != nil {
			t.Fatal(err)
		}
		if i == 3 {
			reply := "msg_before"
			m.InReplyTo = &reply
		}
		if err := bob.Relayed(t.Context(), "bob", "", from, m.ID, meeting.FromRelay{Message: &m}); err != nil {
			t.Fatal(err)
		}
	}
	bob.Flush(t.Context())
	if got := w.actions(); len(got) != 1 || got[0] != meeting.ActionError {
		t.Errorf("only the unknown action is answered: %v", got)
	}
	for n := range 40 {
		m, err := meeting.NewMessage("debate", "ada-id", "bob-id", map[string]any{"n": n}, w.now)
		if err != nil {
			t.Fatal(err)
		}
		if err := bob.Relayed(t.Context(), "bob", "", from, m.ID, meeting.FromRelay{Message: &m}); err != nil {
			t.Fatal(err)
		}
	}
	w.drop = true
	for range 5 {
		bob.Flush(t.Context())
	}
	if len(w.sent) > 21 {
		t.Errorf("%d automatic answers in an hour", len(w.sent))
	}
}

func TestOnlyPublicSkillsAreListedShownMadeAndSent(t *testing.T) {
	w := newWorld(t)
	ada := w.add("ada", skill.Config{})
	ada.own = []skill.Own{tea(text), {ID: "diary", Name: "Diary", Content: "secret"}}
	ctx := t.Context()
	list, err := ada.Skills.Skills(ctx, "")
	if err != nil || list.Count != 1 || list.Skills[0].ID != "tea" || list.Skills[0].ContentHash != mmp.HashOf(text).Bare() {
		t.Errorf("%+v %v", list, err)
	}
	for _, ref := range []string{"diary", "Diary", "../skills/diary", "/etc/passwd", "tea/../diary"} {
		if d, err := ada.Skill(ctx, "", ref); err == nil {
			t.Errorf("shown: %+v", d)
		}
		if p, err := ada.Package(ctx, "", proven("bob"), meeting.SkillRef{SkillID: ref}); err == nil {
			t.Errorf("sent: %+v", p)
		}
		if _, err := ada.Make(ctx, "", meeting.ActionOfferSkill, []byte(`{"skill_id":"`+ref+`","to":"bob"}`)); err == nil {
			t.Errorf("offered: %s", ref)
		}
	}
	p, err := ada.PreviewSkill(ctx, "", "Tea", 1)
	if err != nil || p.FirstLines == nil || *p.FirstLines != "# Tea\n" {
		t.Errorf("%+v %v; want no error, p.FirstLines not to be nil, *p.FirstLines to be \"# Tea\\n\"", p, err)
	}
}

// A stranger's skill bothers nobody; a person who looks at it may decide, and the
// question outlives the hub as any other does.
func TestAPersonMayDecideOnAStrangersSkill(t *testing.T) {
	w := newWorld(t)
	bob := w.add("bob", skill.Config{L2Offers: true})
	bob.say(stranger("two"), meeting.ActionSkillContent, content("Tea", text, nil), "")
	bob.sweep()
	if item := bob.only(); item.Level != skill.L2 || item.Asked || len(bob.waiting()) != 0 {
		t.Fatalf("a stranger reached a person: %+v", item)
	}
	item, err := bob.Ask(t.Context(), bob.only().ID)
	if err != nil || !item.Asked {
		t.Fatalf("%+v, %v; want no error, item.Asked", item, err)
	}
	if _, err := bob.Ask(t.Context(), item.ID); err != nil {
		t.Errorf("asked twice: %v", err)
	}
	if n := len(bob.waiting()); n != 1 {
		t.Fatalf("%d questions", n)
	}
	if err := bob.Close(); err != nil {
		t.Fatal(err)
	}
	bob.open(skill.Config{L2Offers: true})
	if err := bob.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bob.Close() })
	bob.say1(item.Approval, true)
	bob.until("it is in use", func() bool { return bob.only().State == skill.StateApproved })
	if _, err := bob.Ask(t.Context(), item.ID); !errors.Is(err, skill.ErrState) {
		t.Errorf("asked about what is decided: %v", err)
	}
}

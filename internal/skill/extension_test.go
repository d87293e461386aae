package skill_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley.internal/internal/approval"
	"parley.internal/internal/identity"
	"parley.internal/internal/skill"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/meeting"
)

const teaExtension = "---\nname: org.example.tea\nversion: 1.0.0\ntype: mmp_extension\nactions: [pour]\nrequires: [core]\n---\n\n# Tea\n\nPour tea.\n"

func (s *side) extension() skill.Extension {
	s.w.t.Helper()
	all, _, err := s.Extensions(s.w.t.Context())
	if err != nil || len(all) == 0 {
		s.w.t.Fatalf("no extension: %v", err)
	}
	return all[0]
}

func TestAnExtensionTravelsAsADocumentAndCountsAfterAPersonPromotedIt(t *testing.T) {
	w := newWorld(t)
	ada, bob := w.add("ada", skill.Config{}), w.add("bob", skill.Config{})
	writeExtension(t, ada, "tea.md", teaExtension)
	ctx := t.Context()
	if err := ada.ProposeExtension(ctx, "ada", "", "org.example.tea", "bob-id"); err != nil {
		t.Fatal(err)
	}
	w.pump()
	want := []string{"propose_extension", "evaluate_extension", "share_extension", "adopt_extension"}
	if diff := cmp.Diff(want, w.actions()); diff != "" {
		t.Errorf("what was said: %s", diff)
	}
	got := bob.extension()
	if got.State != meeting.ExtPendingPromotion || got.Sender != "ada-id" {
		t.Fatalf("%+v; want got.State to be %v, got.Sender to be \"ada-id\"", got, meeting.ExtPendingPromotion)
	}
	// Until then it is a paper: neither advertised nor understood.
	in, _, err := bob.Introduction(ctx, "")
	if err != nil || slices.Contains(in.Extensions, "org.example.tea") {
		t.Errorf("advertised: %v %v", in.Extensions, err)
	}
	pour := func() meeting.Result { return bob.say(proven("ada"), "pour", map[string]any{"cups": 2}, "") }
	if r := pour(); r.Status != meeting.ResultError {
		t.Errorf("understood: %+v", r)
	}
	if err := bob.Start(ctx); err != nil {
		t.Fatal(err)
	}
	waiting, err := bob.inbox.List(ctx, approval.Filter{Principal: "owner", Kind: approval.KindSkill})
	if err != nil || len(waiting) != 1 || !strings.Contains(string(waiting[0].Arguments), "org.example.tea") {
		t.Fatalf("%+v %v; want no error, len(waiting) to be 1, \"org.example.tea\" in it", waiting, err)
	}
	owner := identity.Actor{Person: identity.Principal{Kind: identity.KindPerson, ID: "owner"}, Scopes: identity.Expand(identity.ApprovalRespond)}
	bob.sweep() // which waits for the answer
	if _, err := bob.inbox.Answer(ctx, owner, waiting[0].ID, approval.Answer{Approved: true}); err != nil {
		t.Fatal(err)
	}
	for bob.extension().State != meeting.ExtPromoted {
		select {
		case <-ctx.Done():
			t.Fatal("it was not promoted")
		case <-time.After(5 * time.Millisecond):
		}
	}
	if r := pour(); r.Status != meeting.ResultReceived {
		t.Errorf("promoted and not understood: %+v", r)
	}
	if r := bob.say(proven("cy"), meeting.ActionProposeExtension, map[string]any{
		"extension_name": "org.example.tea", "extension_version": "1.0.0", "actions": []string{"pour"}, "content_hash": mmp.HashOf(teaExtension).Prefixed(),
	}, ""); r.Status != meeting.EvolutionAlreadyHave {
		t.Errorf("%+v; want r.Status to be %v", r, meeting.EvolutionAlreadyHave)
	}
	for _, on := range []bool{false, true} {
		if _, err := bob.SwitchExtension(ctx, bob.extension().Hash, on); err != nil {
			t.Fatal(err)
		}
		if r := pour(); (r.Status == meeting.ResultReceived) != on {
			t.Errorf("switched %v: %+v", on, r)
		}
	}
}

func TestAnExtensionAPersonRejectsIsForgotten(t *testing.T) {
	w := newWorld(t)
	ada, bob := w.add("ada", skill.Config{}), w.add("bob", skill.Config{})
	writeExtension(t, ada, "tea.md", teaExtension)
	ctx := t.Context()
	if err := ada.ProposeExtension(ctx, "ada", "", "org.example.tea", "bob-id"); err != nil {
		t.Fatal(err)
	}
	w.pump()
	if err := bob.Start(ctx); err != nil {
		t.Fatal(err)
	}
	bob.sweep() // which waits for the answer
	waiting, err := bob.inbox.List(ctx, approval.Filter{Principal: "owner", Kind: approval.KindSkill})
	if err != nil || len(waiting) != 1 {
		t.Fatalf("one question about the extension, got %+v, %v", waiting, err)
	}
	owner := identity.Actor{Person: identity.Principal{Kind: identity.KindPerson, ID: "owner"}, Scopes: identity.Expand(identity.ApprovalRespond)}
	if _, err := bob.inbox.Answer(ctx, owner, waiting[0].ID, approval.Answer{}); err != nil {
		t.Fatal(err)
	}
	for bob.extension().State != meeting.ExtRejected {
		select {
		case <-ctx.Done():
			t.Fatal("it was not rejected")
		case <-time.After(5 * time.Millisecond):
		}
	}
	if got := bob.extension(); got.Content != "" {
		t.Errorf("what was rejected is still kept: %q", got.Content)
	}
}

func TestUnsafeExtensionsAreTurnedAwayByTheirClaims(t *testing.T) {
	w := newWorld(t)
	bob := w.add("bob", skill.Config{})
	for want, change := range map[string]map[string]any{
		"invalid_name":         {"extension_name": "tea"},
		"blocked_actions":      {"actions": []string{"shell_exec"}},
		"suspicious_actions":   {"actions": []string{"run_system_thing"}},
		"core_action_override": {"actions": []string{"introduce"}},
		"missing_dependency":   {"requires": []string{"org.example.water"}},
		"invalid_format":       {"extension_version": "one"},
		"hash_missing":         {"content_hash": ""},
	} {
		p := map[string]any{"extension_name": "org.example.x", "extension_version": "1.0.0", "actions": []string{"pour"}, "content_hash": mmp.HashOf(want).Prefixed()}
		maps.Copy(p, change)
		r := bob.say(proven("ada"), meeting.ActionProposeExtension, p, "")
		if reason, _ := r.Fields["reason"].(string); r.Status != meeting.ResultRejected || !strings.Contains(reason, want) {
			t.Errorf("%s: %s %v; want r.Status to be %v, strings.Contains(reason, want)", want, r.Status, r.Fields["reason"], meeting.ResultRejected)
		}
	}
}

func TestADocumentNobodyAskedForOrThatIsAnotherIsNotAdopted(t *testing.T) {
	w := newWorld(t)
	bob := w.add("bob", skill.Config{})
	share := func(reply, doc string) meeting.Result {
		return bob.say(proven("ada"), meeting.ActionShareExtension, map[string]any{
			"extension_name": "org.example.tea", "extension_version": "1.0.0", "content": doc, "content_hash": mmp.HashOf(doc).Prefixed(),
		}, reply)
	}
	if r := share("", teaExtension); r.Status != meeting.ResultError {
		t.Errorf("unasked: %+v", r)
	}
	r := bob.say(proven("ada"), meeting.ActionProposeExtension, map[string]any{
		"extension_name": "org.example.tea", "extension_version": "1.0.0", "actions": []string{"pour"}, "content_hash": mmp.HashOf(teaExtension).Prefixed(),
	}, "")
	m, ready := r.Answer()
	if !ready || m.Action != meeting.ActionEvaluateExtension {
		t.Fatalf("%+v; want ready, m.Action to be %v", r, meeting.ActionEvaluateExtension)
	}
	if r := share(m.ID, strings.Replace(teaExtension, "pour", "shell_exec", 1)); r.Status != meeting.ResultRejected {
		t.Errorf("another document than was proposed: %+v", r)
	}
	if got := bob.extension(); got.State != meeting.ExtRejected {
		t.Errorf("%+v; want got.State to be %v", got, meeting.ExtRejected)
	}
}

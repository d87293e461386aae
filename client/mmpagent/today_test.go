package mmpagent_test

import (
	"slices"
	"testing"

	"parley.internal/client/mmpagent"
	"parley.internal/test/placetest"
)

func openToday(t *testing.T, p *placetest.Place, i int, id string) *mmpagent.Agent {
	t.Helper()
	a, err := mmpagent.Open(p.URL, mmpagent.Options{ID: id, Name: id, Keys: shared()[i], HTTP: p.Client()})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Places of today tell their limits in words and take keys only with a registration.
// The check, a registration and a sealed message once failed there over both.
func TestPlacesOfTodaysGenerationAreReadAsTheyAre(t *testing.T) {
	p := placetest.Today(t)
	report, err := mmpagent.Check(t.Context(), p.URL, mmpagent.CheckOptions{HTTP: p.Client(), Keys: shared()[:2]})
	if err != nil || !report.OK {
		t.Fatalf("the check of a place of today: %v %+v", err, report)
	}
	if left := p.Agents(); len(left) != 0 {
		t.Errorf("the check left agents behind: %v", left)
	}
	ada, bob := openToday(t, p, 0, "ada"), openToday(t, p, 1, "bob")
	for _, a := range []*mmpagent.Agent{ada, bob} {
		if _, err := a.Register(t.Context()); err != nil {
			t.Fatalf("registering at a place without keys/register: %v", err)
		}
	}
	if info, err := ada.Info(t.Context()); err != nil || info.DepositLimits["per_agent"] != 20 || info.Name == "" {
		t.Errorf("what can be read of its info is kept: %+v %v", info, err)
	}
	if sent, err := ada.Send(t.Context(), "bob", "note", "hello"); err != nil || sent.Version != 1 {
		t.Fatalf("sending there: %+v %v", sent, err)
	}
	if m := one(t, bob); m.Problem != nil || m.Content.Text != "hello" {
		t.Errorf("what was sent is not what arrived: %+v", m)
	}
	deposited, err := ada.Deposit(t.Context(), mmpagent.Skill{ID: "tea", Name: "Tea", Content: "# Tea\n"})
	if err != nil || deposited.Status != "deposited" {
		t.Errorf("depositing there: %+v %v", deposited, err)
	}
	if got, err := bob.SkillContent(t.Context(), "tea", "ada"); err != nil || got.Content != "# Tea\n" {
		t.Errorf("fetching the deposit: %+v %v", got, err)
	}
}

// A place lets an agent in and then fails it. The agent does not stay registered.
func TestARegistrationThatComesToNothingIsTakenBack(t *testing.T) {
	p := placetest.Today(t)
	p.Break("/keys/register")
	a := openToday(t, p, 0, "ada")
	if _, err := a.Register(t.Context()); err == nil {
		t.Fatal("a place that fails at the key counts as entered")
	}
	if left := p.Agents(); len(left) != 0 || a.Entered() {
		t.Errorf("the agent stayed behind: %v", left)
	}
	if !slices.Contains(p.Calls(), "POST /place/v1/unregister") {
		t.Error("it did not unregister")
	}
}

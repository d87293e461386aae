package skill_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley.internal/internal/skill"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/board"
	"parley.internal/protocol/mmp/meeting"
)

// shelf is a place's, as one agent reaches it; what lies there is everybody's.
type shelf struct {
	line
	lies map[string]board.ContentAnswer // by owner and skill
	says map[string]board.Deposit
}

func newShelf() *shelf {
	return &shelf{lies: map[string]board.ContentAnswer{}, says: map[string]board.Deposit{}}
}

// of is the shelf as an agent reaches it.
func (s *shelf) of(from *side) *shelf {
	other := *s
	other.line = line{from}
	return &other
}

func (s *shelf) me() string { return s.from.host.ID }

func (s *shelf) Deposited(context.Context) (map[string]string, error) {
	out := map[string]string{}
	for _, d := range s.says {
		if d.DepositorID == s.me() {
			out[d.SkillID] = d.ContentHash
		}
	}
	return out, nil
}

func (s *shelf) Deposit(_ context.Context, o skill.Own) error {
	at, summary := s.me()+"/"+o.ID, o.Summary
	s.lies[at] = board.ContentAnswer{SkillID: o.ID, Name: o.Name, Content: o.Content, ContentHash: mmp.HashOf(o.Content).Bare(), Format: "markdown", DepositorID: s.me(), Provenance: o.Provenance}
	s.says[at] = board.Deposit{SkillID: o.ID, Name: o.Name, DepositorID: s.me(), ContentHash: mmp.HashOf(o.Content).Bare(), Summary: &summary, Tags: o.Tags}
	return nil
}

func (s *shelf) Withdraw(_ context.Context, id, _ string) error {
	delete(s.lies, s.me()+"/"+id)
	delete(s.says, s.me()+"/"+id)
	return nil
}

func (s *shelf) Browse(context.Context, string, int) (out []board.Deposit, err error) {
	for _, d := range s.says {
		out = append(out, d)
	}
	return out, nil
}

func (s *shelf) Preview(_ context.Context, owner, id string) (board.Deposit, error) {
	d, ok := s.says[owner+"/"+id]
	if !ok {
		return d, skill.ErrNotFound
	}
	return d, nil
}

func (s *shelf) Content(_ context.Context, owner, id string) (board.ContentAnswer, error) {
	return s.lies[owner+"/"+id], nil
}

func (s *shelf) Attest(context.Context, string, string, string) error { return nil }

func (s *shelf) names() (out []string) {
	for at := range s.lies {
		out = append(out, at)
	}
	slices.Sort(out)
	return out
}

// What is public lies on the shelf as it is here; what changes is changed there, and what
// is public no longer is gone from it.
func TestAShelfIsKeptAsThePublicSkillsAre(t *testing.T) {
	w := newWorld(t)
	ada := w.add("ada", skill.Config{})
	there := newShelf().of(ada)
	there.lies["someone/tea"] = board.ContentAnswer{}
	stock := func(on bool, want ...string) {
		t.Helper()
		if _, err := ada.Stock(t.Context(), "ada", there, on); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(append(want, "someone/tea"), there.names()); diff != "" {
			t.Error(diff)
		}
	}
	ada.own = []skill.Own{tea("# Tea\n"), {ID: "secret", Name: "secret", Content: "# Secret\n"}}
	stock(true, "ada-id/tea")
	ada.own[0].Content = "# Better tea\n"
	stock(true, "ada-id/tea")
	if got := there.lies["ada-id/tea"].Content; got != "# Better tea\n" {
		t.Errorf("the shelf has %q after the skill changed", got)
	}
	ada.own[0].Public = false
	stock(true)
	ada.own[0].Public = true
	stock(true, "ada-id/tea")
	stock(false)
}

// Bob's agent takes Ada's skill from a shelf: it waits like one that was sent, with the way
// it came signed by Ada's key. What the place has changed is a stranger's, and what is not
// what the place showed is not taken. Handed on, it keeps what it is about and where it is from.
func TestASkillIsAcquiredFromAShelfIntoQuarantine(t *testing.T) {
	w := newWorld(t)
	ada, bob := w.add("ada", skill.Config{}), w.add("bob", skill.Config{})
	there := newShelf()
	ada.own = []skill.Own{tea("# Tea\n")}
	if _, err := ada.Stock(t.Context(), "ada", there.of(ada), true); err != nil {
		t.Fatal(err)
	}
	bob.Join(bob.host, "", there.of(bob))
	at := "ada-id/tea"
	honest := there.lies[at]

	got, err := bob.Acquire(t.Context(), "", "", "ada-id", "tea")
	if err != nil {
		t.Fatal(err)
	}
	if got.State != skill.StateQuarantined || got.Level != skill.L1 || !got.Asked || got.Unsolicited || got.Summary != "How to brew tea" || !slices.Equal(got.Tags, []string{"drink"}) ||
		!slices.Equal(got.Provenance.Chain, []string{"ada-id"}) || !slices.Equal(got.Verified, []bool{true}) {
		t.Errorf("it came as %+v", got)
	}

	for name, c := range map[string]struct {
		change func(*board.ContentAnswer)
		level  skill.Level
		err    error
	}{
		"another text":  {func(a *board.ContentAnswer) { a.Content = "# Poison\n" }, skill.L2, nil},
		"no provenance": {func(a *board.ContentAnswer) { a.Content, a.Provenance = "# Poisoned\n", nil }, skill.L2, nil},
		"another owner": {func(a *board.ContentAnswer) { a.DepositorID = "someone" }, "", skill.ErrInvalid},
		"no Markdown":   {func(a *board.ContentAnswer) { a.Format = "ruby" }, "", skill.ErrInvalid},
		"came by the way": {func(a *board.ContentAnswer) {
			a.Provenance = &meeting.Provenance{Origin: "bob-id", Chain: []string{"bob-id"}}
		}, "", skill.ErrInvalid},
	} {
		changed := honest
		c.change(&changed)
		shown := there.says[at]
		shown.ContentHash = mmp.HashOf(changed.Content).Bare()
		there.lies[at], there.says[at] = changed, shown
		got, err := bob.Acquire(t.Context(), "", "", "ada-id", "tea")
		if !errors.Is(err, c.err) || got.Level != c.level {
			t.Errorf("%s: it came as %+v, %v", name, got, err)
		}
	}
	shown := there.says[at]
	shown.ContentHash = honest.ContentHash
	there.lies[at], there.says[at] = board.ContentAnswer{SkillID: "tea", Content: "# Swapped\n", DepositorID: "ada-id"}, shown
	if _, err := bob.Acquire(t.Context(), "", "", "ada-id", "tea"); !errors.Is(err, skill.ErrInvalid) {
		t.Errorf("what is not what the place showed was taken: %v", err)
	}
	if _, err := bob.Acquire(t.Context(), "", "", "ada-id", "nothing"); !errors.Is(err, skill.ErrNotFound) {
		t.Errorf("what is not there was taken: %v", err)
	}
	if _, err := bob.Acquire(t.Context(), "", "elsewhere", "ada-id", "tea"); !errors.Is(err, skill.ErrNotFound) {
		t.Errorf("an agent that is not there took something: %v", err)
	}

	bob.decide(got.ID, yes)
	if _, err := bob.Publish(t.Context(), got.ID, true); err != nil {
		t.Fatal(err)
	}
	handed, err := bob.Skills.Skills(t.Context(), "bob")
	if err != nil || len(handed.Skills) != 1 || handed.Skills[0].Summary != "How to brew tea" || !slices.Equal(handed.Skills[0].Tags, []string{"drink"}) {
		t.Errorf("what is handed on: %+v, %v", handed, err)
	}
	if _, err := bob.Stock(t.Context(), "bob", there.of(bob), true); err != nil {
		t.Fatal(err)
	}
	if p := there.lies["bob-id/"+got.Name].Provenance; len(there.lies) < 2 || p != nil && !slices.Equal(p.Chain, []string{"ada-id", "bob-id"}) {
		t.Errorf("on the shelf it has the way %+v in %v", p, there.names())
	}
}

package skills_test

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"parley.internal/client/mmpagent"
	"parley.internal/test/hubtest"
	"parley.internal/test/placetest"
)

type deposit struct {
	SkillID string   `json:"skill_id"`
	Owner   string   `json:"owner"`
	Summary string   `json:"summary"`
	Tags    []string `json:"tags"`
	Lines   string   `json:"first_lines"`
	Said    []struct {
		Agent, Claim string
		Signed       bool
	} `json:"said"`
}

func (h hub) deposits(place string) []deposit {
	h.t.Helper()
	var out struct {
		Deposits []deposit `json:"deposits"`
	}
	h.get("/api/place/deposits?place="+place, &out)
	return out.Deposits
}

// write puts a file into the hub's folder.
func (h hub) write(name, text string) {
	h.t.Helper()
	if err := os.WriteFile(h.Path(name), []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// Ada's agent leaves its public skill on the shelf of a place of today's generation for the
// time of a visit, fresh. Bob's agent finds it there, and a skill of a node of that
// generation, and takes both: Ada's is signed by her key, the other one a stranger's. The
// node takes Ada's. What is public no longer, and what Ada's agent leaves behind when it
// comes home, is gone from the shelf.
func TestSkillsAreSharedByDepositAtAPlaceOfToday(t *testing.T) {
	ada, bob := withSkill(t, "tea"), hub{hubtest.Start(t, hubtest.Config{Env: []string{hubtest.Visits}}), t}
	today := placetest.Today(t)
	adaID := ada.agent()
	bob.agent()

	keys, err := mmpagent.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	node, err := mmpagent.Open(today.URL, mmpagent.Options{Name: "node", Keys: keys, HTTP: today.Client()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := node.Register(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := node.Deposit(t.Context(), mmpagent.Skill{ID: "cocoa", Name: "Cocoa", Summary: "How to make cocoa", Content: "# Cocoa\n\nWarm milk.\n"}); err != nil {
		t.Fatal(err)
	}

	var visit visitView
	ada.post("/api/place/visits", map[string]any{"agent": "parley", "url": today.URL, "minutes": 10, "deposit": true}, &visit)
	_, at := bob.visit(hub{&hubtest.Hub{URL: today.URL}, t})
	ada.until("Ada's skill lies on the shelf", func() bool { return slices.Contains(today.Deposits(), adaID+"/tea") })
	bob.until("Bob's agent speaks with the place", func() bool { return bob.Do("GET", "/api/place/deposits?place="+at, "").Status == http.StatusOK })
	found := bob.deposits(at)
	if len(found) != 2 {
		t.Fatalf("Bob finds %+v", found)
	}
	for _, d := range found {
		if d.Owner == adaID && (d.Summary != "How to brew tea" || !slices.Equal(d.Tags, []string{"drink"})) {
			t.Errorf("Ada's skill is shown as %+v", d)
		}
	}
	for owner, id := range map[string]string{adaID: "tea", node.ID(): "cocoa"} {
		bob.post("/api/skills/acquire", map[string]string{"place": at, "owner": owner, "skill": id}, nil)
	}
	for _, got := range bob.received() {
		want := "L2"
		if got.Sender == adaID {
			want = "L1"
		}
		if got.State != "quarantined" || got.Level != want || got.Approval == "" {
			t.Errorf("taken from the shelf: %+v", got)
		}
	}
	if n := len(bob.received()); n != 2 {
		t.Errorf("Bob took two skills and has %d", n)
	}
	if got, err := node.SkillContent(t.Context(), "tea", adaID); err != nil || !strings.Contains(got.Content, secret) {
		t.Errorf("the node takes %+v, %v", got, err)
	}

	ada.write("skills/tea.md", strings.Replace(tea, "# Tea", "# Better tea", 1))
	ada.until("the shelf has the new text", func() bool {
		got, err := node.SkillContent(t.Context(), "tea", adaID)
		return err == nil && strings.Contains(got.Content, "# Better tea")
	})
	ada.write("skills/tea.md", strings.Replace(tea, "public: true", "public: false", 1))
	ada.until("what is public no longer is gone", func() bool { return !slices.Contains(today.Deposits(), adaID+"/tea") })
	ada.write("skills/tea.md", tea)
	ada.until("it is there again", func() bool { return slices.Contains(today.Deposits(), adaID+"/tea") })
	if a := ada.Do("DELETE", "/api/place/visits/"+visit.ID, ""); a.Status >= 300 {
		t.Fatalf("coming home: %d %s", a.Status, a.Body)
	}
	if left := today.Deposits(); !slices.Equal(left, []string{node.ID() + "/cocoa"}) {
		t.Errorf("after the visit the shelf has %v", left)
	}
}

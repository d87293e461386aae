package skills_test

import (
	"os"
	"strings"
	"testing"

	"parley.internal/test/hubtest"
	"parley.internal/test/placetest"
)

// withSkills is a hub with public skills and settings of its own.
func withSkills(t *testing.T, names []string, env ...string) hub {
	t.Helper()
	h := hub{hubtest.New(t, hubtest.Config{Env: append(env, hubtest.Visits, "PARLEY_PLACE_FEDERATION=true")}), t}
	if err := os.MkdirAll(h.Path("skills"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if err := os.WriteFile(h.Path("skills/"+name+".md"), []byte(strings.ReplaceAll(tea, "tea", name)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h.Restart()
	return h
}

// peer lets this hub's place know another operator's.
func (h hub) peer(name string, other hub) {
	h.t.Helper()
	var info struct {
		PlaceKey string `json:"place_key"`
	}
	other.get("/place/v1/info", &info)
	h.post("/api/place/peers", map[string]any{"name": name, "url": other.URL, "key": info.PlaceKey}, nil)
}

// Two operators peer their places, one with the policy tofu and one with strict. Ada's
// agent finds Bob's across them and sends a skill there, and Bob is asked. Then both meet
// at a place of today's generation, which proves nobody: what comes there waits for Bob
// to look, and asks him nothing.
func TestSkillsCrossTwoPlacesOfTwoOperatorsAndOneOfToday(t *testing.T) {
	ada := withSkills(t, []string{"tea", "coffee"}, "PARLEY_PLACE_AUTH=tofu")
	bob := withSkills(t, nil, "PARLEY_PLACE_AUTH=strict")
	adaID, bobID := ada.agent(), bob.agent()
	ada.peer("bobs", bob)
	bob.peer("adas", ada)
	ada.until("Ada's place lists Bob's agent", func() bool {
		a := ada.As("", "GET", "/place/v1/agents", "")
		return strings.Contains(string(a.Body), bobID+"@bobs")
	})
	if a := bob.As("", "GET", "/place/v1/agents", ""); a.Status != 401 {
		t.Errorf("a stranger is served at the strict place: %d %s", a.Status, a.Body)
	}
	ada.post("/api/skills/offer", map[string]any{"to": bobID + "@bobs", "skill": "tea"}, nil)
	bob.until("the skill has crossed both places", func() bool { return len(bob.received()) == 1 && bob.received()[0].Approval != "" })
	if got := bob.received()[0]; got.Sender != adaID+"@adas" || got.Level != "L1" || got.State != "quarantined" {
		t.Errorf("it came as %+v", got)
	}

	today := placetest.Today(t)
	visit := func(h hub) string {
		var v struct {
			Place string `json:"place"`
		}
		h.post("/api/place/visits", map[string]any{"agent": "parley", "url": today.URL, "minutes": 10}, &v)
		return v.Place
	}
	at := visit(ada)
	visit(bob)
	ada.post("/api/skills/offer", map[string]any{"to": bobID, "place": at, "skill": "coffee"}, nil)
	bob.until("the skill has come by the place of today", func() bool { return len(bob.received()) == 2 })
	for _, got := range bob.received() {
		if got.Sender == adaID && (got.Level != "L2" || got.State != "quarantined") {
			t.Errorf("a place that proves nobody gave %+v", got)
		}
	}
}

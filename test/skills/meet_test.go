package skills_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"parley.internal/test/hubtest"
)

type met struct {
	visitView
	Peer       string   `json:"peer"`
	Proven     bool     `json:"proven"`
	Actions    []string `json:"actions"`
	Extensions []string `json:"extensions"`
	Skills     []struct {
		ID      string `json:"id"`
		Summary string `json:"summary"`
	} `json:"skills"`
}

func (h hub) meet(url string) met {
	h.t.Helper()
	var out met
	h.post("/api/place/meet", map[string]any{"agent": "parley", "url": url, "minutes": 10}, &out)
	return out
}

// repeater passes on what is said to an agent, and what it answers, under another address.
func repeater(t *testing.T, to string) string {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/place/") {
			http.NotFound(w, r) // the place would show that it is another's
			return
		}
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// withSkill starts a hub whose agent has a public skill of that name.
func withSkill(t *testing.T, name string, args ...string) hub {
	t.Helper()
	h := hub{hubtest.Start(t, hubtest.Config{Args: args, Env: []string{hubtest.Visits}}), t}
	if err := os.MkdirAll(h.Path("skills"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(h.Path("skills/"+name+".md"), []byte(strings.ReplaceAll(tea, "tea", name)), 0o600); err != nil {
		t.Fatal(err)
	}
	return h
}

// Ada's agent calls Bob's at its address, with no place between. Bob's shows that it holds
// its key, and what can be said by a relay can be said here: skills go both ways into
// quarantine, a discussion and a negotiation are opened, all of it in one conversation that
// survives kill -9 and ends with a goodbye.
func TestAnAgentIsMetAtItsAddress(t *testing.T) {
	listen := port(t)
	bob := withSkill(t, "tea", append(listen, "--public-url", "http://"+listen[1])...)
	ada := withSkill(t, "coffee")
	bobID := bob.agent()
	ada.agent()

	// Bob's agent tells where it is met and what it can do, and is found by that.
	var found struct {
		Agents []struct{ ID, Endpoint string } `json:"agents"`
	}
	bob.get("/api/place/agents?capability=offer_skill", &found)
	if len(found.Agents) != 1 || found.Agents[0].ID != bobID || found.Agents[0].Endpoint != bob.URL {
		t.Fatalf("who takes offers at Bob's place: %+v, not %s at %s", found, bobID, bob.URL)
	}
	m := ada.meet(found.Agents[0].Endpoint)
	if m.Peer != bobID || !m.Proven || m.PlaceKey == "" || !slices.Contains(m.Actions, "offer_skill") || !slices.Contains(m.Extensions, "discussion") {
		t.Fatalf("Bob's agent was met as %+v", m)
	}
	bob.until("Bob's public skill is told", func() bool {
		m = ada.meet(bob.URL)
		return len(m.Skills) == 1 && m.Skills[0].ID == "tea"
	})

	ada.post("/api/skills/request", map[string]any{"to": bobID, "place": m.Place, "skill_id": "tea"}, nil)
	ada.until("Bob's skill waits at Ada's", func() bool { return len(ada.received()) == 1 })
	if got := ada.received()[0]; got.Level != "L1" || got.Sender != bobID || got.State != "quarantined" || len(got.Chain) != 1 || !got.Chain[0].Verified {
		t.Errorf("what came from Bob: %+v", got)
	}

	ada.Kill9()
	ada.Restart()
	ada.post("/api/skills/offer", map[string]any{"to": bobID, "place": m.Place, "skill": "coffee"}, nil)
	bob.until("Ada's skill waits at Bob's", func() bool { return len(bob.received()) == 1 })
	if n := len(bob.received()); n != 1 {
		t.Errorf("Bob has %d skills of Ada's, not one", n)
	}

	for action, payload := range map[string]map[string]any{"propose": {"title": "Tea at five", "text": "Shall we?"}, "offer": {"terms": map[string]any{"cups": 2}}} {
		ada.post("/api/skills/threads", map[string]any{"to": bobID, "place": m.Place, "action": action, "payload": payload}, nil)
	}
	bob.until("both threads are open at Bob's", func() bool {
		var out struct {
			Threads []struct{ Kind string } `json:"threads"`
		}
		bob.get("/api/skills/threads", &out)
		return len(out.Threads) == 2
	})

	if a := ada.Do("DELETE", "/api/place/visits/"+m.ID, ""); a.Status != 204 {
		t.Fatalf("saying goodbye: %d %s", a.Status, a.Body)
	}
	ada.until("the conversation is over", func() bool { return len(ada.visits()) == 0 })
}

// Somebody answers at an address with the introduction that Bob's agent tells everybody.
// It does not hold Bob's key, and so it is a stranger. When an agent that was met is
// replaced by another one, nothing is said there until a person has looked.
func TestAnAddressThatOnlyRepeatsAnIntroductionIsAStrangers(t *testing.T) {
	listen := port(t)
	bob := withSkill(t, "tea", listen...)
	ada := withSkill(t, "tea")
	bob.agent()
	ada.agent()
	liar := repeater(t, bob.URL)
	m := ada.meet(liar)
	if m.Proven {
		t.Fatalf("who repeats an introduction counts as proven: %+v", m)
	}
	ada.post("/api/skills/request", map[string]any{"to": m.Peer, "place": m.Place, "skill_id": "tea"}, nil)
	ada.until("what the liar sends is a stranger's", func() bool {
		all := ada.received()
		return len(all) == 1 && all[0].Level == "L2"
	})

	ada.meet(bob.URL)
	bob.Kill9()
	mallory := withSkill(t, "tea", listen...)
	mallory.agent()
	if a := ada.Do("POST", "/api/place/meet", `{"agent":"parley","url":"`+mallory.URL+`"}`); a.Status != 409 {
		t.Errorf("another agent at Bob's address was met: %d %s", a.Status, a.Body)
	}
	// Its own address is told from another's, and what is not public is not called.
	if a := ada.Do("POST", "/api/place/meet", `{"agent":"parley","url":"`+ada.URL+`"}`); a.Status < 400 || !strings.Contains(string(a.Body), "itself") {
		t.Errorf("the agent met itself: %d %s", a.Status, a.Body)
	}
}

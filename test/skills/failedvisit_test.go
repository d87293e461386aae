package skills_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/board"
	"parley.internal/test/hubtest"
	"parley.internal/test/placetest"
)

// brokenPlace is a place that lets agents in and then fails them.
type brokenPlace struct {
	honest bool // it proves its key
	mu     sync.Mutex
	calls  []string
}

func (b *brokenPlace) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	b.calls = append(b.calls, strings.TrimPrefix(r.URL.Path, "/place/v1"))
	b.mu.Unlock()
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{3}, ed25519.SeedSize))
	public := mmp.FormatPeerKey(key.Public().(ed25519.PublicKey))
	var out any
	switch r.URL.Path {
	case "/place/v1/info":
		out = board.Info{PlaceID: "place_broken", PlaceKey: &public, Features: []string{board.FeatureChallenge}}
	case "/place/v1/challenge":
		var asked struct {
			Agent string `json:"agent_id"`
		}
		_ = json.NewDecoder(r.Body).Decode(&asked)
		c := mmp.ChallengeAnswer{Nonce: mmp.NewNonce(), PlaceID: "place_broken", ExpiresAt: mmp.At(time.Now().Add(time.Minute)), Address: mmp.CalledAt(r.Host)}
		if b.honest {
			c.Sign(key, asked.Agent)
		}
		out = c
	case "/place/v1/register":
		out = board.RegisterAnswer{AgentID: "visitor", SessionToken: mmp.NewToken()}
	case "/place/v1/unregister":
		out = board.UnregisterAnswer{AgentID: "visitor", Status: board.StatusUnregistered}
	default:
		w.WriteHeader(http.StatusInternalServerError)
		out = mmp.ErrInternal.Body(false)
	}
	_ = json.NewEncoder(w).Encode(out)
}

func (b *brokenPlace) heard(path string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Contains(b.calls, path)
}

// A visit fails: halfway, since the place fails, and before it began, since the place
// does not prove that it is one. Nobody of this hub is registered there afterwards.
func TestAVisitThatFailsLeavesNoRegistrationBehind(t *testing.T) {
	ada := hub{hubtest.Start(t, hubtest.Config{Env: []string{hubtest.Visits}}), t}
	ada.agent()
	visit := func(b *brokenPlace) {
		t.Helper()
		server := httptest.NewServer(b)
		defer server.Close()
		a := ada.Do("POST", "/api/place/visits", `{"agent":"parley","url":"`+server.URL+`","minutes":10}`)
		if a.Status < 400 || len(ada.visits()) != 0 {
			t.Fatalf("a visit to a place that fails began: %d %s", a.Status, a.Body)
		}
	}
	halfway := &brokenPlace{honest: true}
	visit(halfway)
	if !halfway.heard("/register") || !halfway.heard("/unregister") {
		t.Errorf("the agent did not leave the place that failed it; it called %v", halfway.calls)
	}
	liar := &brokenPlace{}
	visit(liar)
	if liar.heard("/register") {
		t.Errorf("the agent registered at a place that does not prove its key; it called %v", liar.calls)
	}
	// Its own place is seen to be that before anything is sent there.
	if a := ada.Do("POST", "/api/place/visits", `{"agent":"parley","url":"`+ada.URL+`","minutes":10}`); a.Status < 400 || !strings.Contains(string(a.Body), "own place") {
		t.Errorf("visiting one's own place: %d %s", a.Status, a.Body)
	}
	if ada.agent() == "" {
		t.Error("the agent is not at home any more")
	}
}

// A place of today has neither an id nor a key of its own to show, tells its limits in
// words and takes no keys but with a registration. Agents visit it all the same, and
// leave when something fails there.
func TestAPlaceOfTodaysGenerationIsVisited(t *testing.T) {
	ada := hub{hubtest.Start(t, hubtest.Config{Env: []string{hubtest.Visits}}), t}
	me, today := ada.agent(), placetest.Today(t)
	body := `{"agent":"parley","url":"` + today.URL + `","minutes":10}`
	today.Break("/keys/register")
	if a := ada.Do("POST", "/api/place/visits", body); a.Status < 400 || len(today.Agents()) != 0 {
		t.Fatalf("a visit that failed left %v behind: %d %s", today.Agents(), a.Status, a.Body)
	}
	today.Break("")
	ada.post("/api/place/visits", json.RawMessage(body), nil)
	if there := today.Agents(); !slices.Equal(there, []string{me}) {
		t.Fatalf("visiting are %v, not %s", there, me)
	}
	// What it really can do is told there and at home, where others look for it.
	if can := today.Can(me); !strings.Contains(can, "offer_skill") {
		t.Errorf("the visitor says it can %s", can)
	}
	if a := ada.As("", "GET", "/place/v1/agents?capability=offer_skill", ""); !strings.Contains(string(a.Body), me) {
		t.Errorf("an agent that takes offers is not found as one: %s", a.Body)
	}
	for _, v := range ada.visits() {
		if a := ada.Do("DELETE", "/api/place/visits/"+v.ID, ""); a.Status >= 300 {
			t.Fatalf("ending the visit: %d %s", a.Status, a.Body)
		}
	}
	if there := today.Agents(); len(there) != 0 {
		t.Errorf("after the visit %v are still registered", there)
	}
}

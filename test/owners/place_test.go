//go:build linux

package owners_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"parley.internal/test/hubtest"
)

// agentAt is the id of an agent at the hub's own place, once it is there.
func (h *hub) agentAt(name string) (id string) {
	h.t.Helper()
	hubtest.Eventually(h.t, name+" registers at the place", func() bool {
		var list struct {
			Agents []struct{ ID, Name string }
		}
		_ = json.Unmarshal(h.Do("GET", "/api/place/agents", "").Body, &list)
		for _, a := range list.Agents {
			if a.Name == name {
				id = a.ID
			}
		}
		return id != ""
	})
	return id
}

// The scope "place", which everybody has, ran the meeting place: whoever had a token released the
// keys of other people's agents, spoke in their names, sent them to places of strangers, trusted keys,
// peered the hub with others and made the audit's made-up names new ones.
func TestThePlaceIsNotEverybodysToRun(t *testing.T) {
	h := start(t)
	alice, bob := h.person("alice"), h.person("bob")
	if a := h.Do("POST", "/api/agents", `{"name":"ada","prompt":"p","place":true,"owner":"alice"}`); a.Status/100 != 2 {
		t.Fatalf("an agent of alice: %d %s", a.Status, a.Body)
	}
	ada, parley := h.agentAt("ada"), h.agentAt("parley")
	key := filepath.Join(t.TempDir(), "carol.pem")
	for _, args := range [][]string{{"keys", "new", key}, {"post", "offer_skill", "Tea", "How to brew it", "--as", key, "--id", "carol", "--place", h.URL}} {
		if out, code := h.parley(h.Owner, append([]string{"place"}, args...)...); code != 0 {
			t.Fatalf("carol, who is no agent of the hub, posts: %s", out)
		}
	}
	var board struct{ Postings []struct{ ID string } }
	if err := json.Unmarshal(h.As(bob, "GET", "/api/place/postings", "").Body, &board); err != nil || len(board.Postings) != 1 {
		t.Fatalf("the board is for everybody to read: %v %+v", err, board)
	}
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"DELETE", "/api/place/postings/" + board.Postings[0].ID, "", 400},
		{"DELETE", "/api/place/keys/carol", "", 404},
		{"DELETE", "/api/place/keys/" + ada, "", 404},
		{"DELETE", "/api/place/agents/" + parley + "/sessions", "", 404},
		{"GET", "/api/place/graph", "", 403},
		{"GET", "/api/place/audit", "", 403},
		{"GET", "/api/place/audit/hours", "", 403},
		{"POST", "/api/place/audit/salt", "", 403},
		{"GET", "/api/place/trust", "", 403},
		{"POST", "/api/place/trust", `{"address":"carol","key_id":""}`, 403},
		{"DELETE", "/api/place/trust/sha256:x", "", 403},
		{"GET", "/api/place/peers", "", 403},
		{"POST", "/api/place/peers", `{"name":"x","url":"https://x.example.org","key":"ed25519:x"}`, 403},
		{"DELETE", "/api/place/peers/x", "", 403},
		{"POST", "/api/place/visits", `{"agent":"parley","url":"https://place.example.org"}`, 404},
		{"POST", "/api/place/visits", `{"agent":"ada","url":"https://place.example.org"}`, 404},
		{"POST", "/api/skills/note", `{"agent":"ada","to":"carol","text":"x"}`, 404},
		{"POST", "/api/skills/note", `{"to":"carol","text":"x"}`, 404},
		{"POST", "/api/skills/introduce", `{"agent":"` + ada + `","to":"carol"}`, 404},
	} {
		if a := h.As(bob, c.method, c.path, c.body); a.Status != c.status {
			t.Errorf("bob, with everyday rights: %s %s %s is %d %s, expected %d", c.method, c.path, c.body, a.Status, a.Body, c.status)
		}
	}
	for who, want := range map[string]string{bob: "", alice: ada} {
		for _, path := range []string{"/api/place/keys", "/api/skills/received"} {
			body := string(h.As(who, "GET", path, "").Body)
			if strings.Contains(body, parley) || strings.Contains(body, ada) != (want == ada) {
				t.Errorf("%s shows %s, expected one's own agents alone (%q)", path, body, want)
			}
		}
	}
	if a := h.As(alice, "POST", "/api/skills/note", `{"agent":"ada","to":"carol","text":"x"}`); a.Status/100 != 2 {
		t.Errorf("alice speaks as her agent: %d %s", a.Status, a.Body)
	}
	if a := h.As(alice, "DELETE", "/api/place/agents/"+ada+"/sessions", ""); a.Status != 200 {
		t.Errorf("alice ends the sessions of her agent: %d %s", a.Status, a.Body)
	}
	if a := h.Do("DELETE", "/api/place/postings/"+board.Postings[0].ID, ""); a.Status/100 != 2 {
		t.Errorf("the owner, who has admin, runs the place: %d %s", a.Status, a.Body)
	}
}

// Whoever may change agents wrote another name, or their own, under owner: in the files of
// other people's agents and of the hub's own. From then on they had its keys at the place,
// its messages and its voice; and whoever they named was spoken for.
func TestWhoeverChangesAgentsChangesNotWhoseTheyAre(t *testing.T) {
	h := start(t)
	h.person("alice")
	bob := h.person("bob", "agents:manage")
	made := h.Do("POST", "/api/agents", `{"name":"ada","prompt":"p","place":true,"owner":"alice"}`)
	if made.Status/100 != 2 {
		t.Fatalf("an agent of alice: %d %s", made.Status, made.Body)
	}
	h.agentAt("ada")
	h.agentAt("parley")
	for _, c := range []struct {
		what, method, path, body string
		status                   int
	}{
		{"takes the agent of alice", "PUT", "/api/agents/ada", `{"owner":"bob"}`, 403},
		{"gives it to the hub", "PUT", "/api/agents/ada", `{"owner":null}`, 403},
		{"takes it with a file", "PUT", "/api/agents/ada/file", "---\nowner: bob\n---\np\n", 403},
		{"removes it", "DELETE", "/api/agents/ada", "", 403},
		{"takes the hub's own", "PUT", "/api/agents/parley", `{"owner":"bob"}`, 403},
		{"gives alice one in her name", "POST", "/api/agents", `{"name":"eve","prompt":"p","place":true,"owner":"alice"}`, 403},
		{"changes something else of it", "PUT", "/api/agents/ada", `{"description":"d"}`, 200},
		{"makes one of his own", "POST", "/api/agents", `{"name":"bert","prompt":"p","owner":"bob"}`, 201},
		{"gives that to the hub", "PUT", "/api/agents/bert", `{"owner":null}`, 200},
		{"removes the hub's own", "DELETE", "/api/agents/parley", "", 204},
		{"makes one of that name, whose keys are still there", "POST", "/api/agents", `{"name":"parley","prompt":"p","owner":"bob"}`, 403},
	} {
		if a := h.As(bob, c.method, c.path, c.body); a.Status != c.status {
			t.Errorf("bob %s: %d %s, expected %d", c.what, a.Status, a.Body, c.status)
		}
	}
}

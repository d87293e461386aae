package skills_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley.internal/test/hubtest"
)

// secret stands in the skill and nowhere a place may read it.
const secret = "steep-the-leaves-for-three-minutes-zebra"

const tea = "---\nname: tea\ndescription: How to brew tea\ntags: [drink]\npublic: true\n---\n\n# Tea\n\nAlways " + secret + ".\n"

func TestMain(m *testing.M) { hubtest.Main(m) }

// hub is one of the two, as this test uses it.
type hub struct {
	*hubtest.Hub
	t *testing.T
}

func (h hub) get(path string, into any) {
	h.t.Helper()
	a := h.Do("GET", path, "")
	if a.Status != 200 || json.Unmarshal(a.Body, into) != nil {
		h.t.Fatalf("GET %s: %d %s %v", path, a.Status, a.Body, a.Err)
	}
}

func (h hub) post(path string, body, into any) {
	h.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		h.t.Fatal(err)
	}
	a := h.Do("POST", path, string(raw))
	if a.Status < 200 || a.Status > 299 || into != nil && json.Unmarshal(a.Body, into) != nil {
		h.t.Fatalf("POST %s: %d %s %v", path, a.Status, a.Body, a.Err)
	}
}

// until waits for something to become true.
func (h hub) until(what string, done func() bool) {
	h.t.Helper()
	hubtest.Eventually(h.t, what, done)
}

type received struct {
	ID       string `json:"id"`
	Title    string `json:"title"`
	Name     string `json:"name"`
	Sender   string `json:"sender"`
	State    string `json:"state"`
	Level    string `json:"level"`
	Hash     string `json:"hash"`
	Approval string `json:"approval_id"`
	Source   string `json:"source"`
	Chain    []struct {
		Agent    string `json:"agent"`
		Verified bool   `json:"verified"`
	} `json:"chain"`
}

func (h hub) received() []received {
	var out struct {
		Skills []received `json:"skills"`
	}
	h.get("/api/skills/received", &out)
	return out.Skills
}

type exchange struct {
	ID    string `json:"id"`
	Peer  string `json:"peer"`
	Side  string `json:"side"`
	State string `json:"state"`
}

func (h hub) exchanges() []exchange {
	var out struct {
		Exchanges []exchange `json:"exchanges"`
	}
	h.get("/api/skills/exchanges", &out)
	return out.Exchanges
}

// agent is the id of this hub's agent at its own place, once it is there.
func (h hub) agent() string {
	var out struct {
		Agents []struct{ ID, Name string } `json:"agents"`
	}
	id := ""
	h.until("the hub's agent registers itself", func() bool {
		h.get("/api/place/agents", &out)
		for _, a := range out.Agents {
			if a.Name == "parley" {
				id = a.ID
			}
		}
		return id != ""
	})
	return id
}

// visit sends this hub's agent to the other's place.
func (h hub) visit(other hub) (agent, place string) {
	var v struct {
		AgentID string `json:"agent_id"`
		Place   string `json:"place"`
	}
	h.post("/api/place/visits", map[string]any{"agent": "parley", "url": other.URL, "minutes": 10}, &v)
	return v.AgentID, v.Place
}

// mentions lists the files of the hub's database that hold a text.
func (h hub) mentions(text string) []string {
	var found []string
	err := filepath.WalkDir(h.Path("."), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(filepath.Base(path), "parley.db") {
			return nil //nolint:nilerr // files come and go
		}
		data, err := os.ReadFile(path)
		if err == nil && bytes.Contains(data, []byte(text)) {
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return found
}

func TestAgentsOfTwoHubsExchangeASkillUnderApprovalAndThePlaceReadsNothing(t *testing.T) {
	// Ada's agent has the skill and visits the place in the middle; so does Bob's.
	// The middle hub only relays, so its whole database must not know the text.
	middle := hub{hubtest.Start(t, hubtest.Config{Env: []string{hubtest.Visits}}), t}
	ada := hub{hubtest.New(t, hubtest.Config{Env: []string{hubtest.Visits}}), t}
	if err := os.MkdirAll(ada.Path("skills"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(ada.Path("skills/tea.md"), []byte(tea), 0o600); err != nil {
		t.Fatal(err)
	}
	ada.Restart()
	bob := hub{hubtest.Start(t, hubtest.Config{Env: []string{hubtest.Visits}}), t}
	ada.agent()
	bob.agent()
	adaID, at := ada.visit(middle)
	bobID, _ := bob.visit(middle)

	ada.post("/api/skills/introduce", map[string]any{"to": bobID, "place": at}, nil)
	ada.post("/api/skills/offer", map[string]any{"to": bobID, "place": at, "skill": "tea"}, nil)

	// It arrives, and waits.
	var waiting received
	bob.until("the skill is in Bob's quarantine", func() bool {
		for _, s := range bob.received() {
			waiting = s
		}
		return waiting.Approval != ""
	})
	if waiting.State != "quarantined" || waiting.Sender != adaID || waiting.Level != "L1" {
		t.Fatalf("waiting: %+v", waiting)
	}
	var review received
	bob.get("/api/skills/received/"+waiting.ID, &review)
	if !strings.Contains(review.Source, secret) {
		t.Errorf("the person who decides does not see the text: %q", review.Source)
	}
	if len(review.Chain) != 1 || review.Chain[0].Agent != adaID || !review.Chain[0].Verified {
		t.Errorf("provenance: %+v", review.Chain)
	}
	if files, _ := filepath.Glob(bob.Path("skills/received/*.md")); len(files) != 0 {
		t.Errorf("an unapproved skill is in the folder: %v", files)
	}

	// Bob's hub dies before he decides, and the question is still there.
	bob.Kill9()
	bob.Restart()
	bob.agent()
	bob.visit(middle)
	bob.post("/api/approvals/"+waiting.Approval, map[string]any{"approved": true}, nil)
	bob.until("the skill is in use", func() bool { return bob.received()[0].State == "approved" })
	if got := bob.received()[0]; got.Name != "tea" || got.Hash != waiting.Hash {
		t.Errorf("approved: %+v", got)
	}
	bob.until("its file is there", func() bool {
		files, _ := filepath.Glob(bob.Path("skills/received/*.md"))
		return len(files) == 1
	})

	// Ada's side hears of it and is done.
	ada.until("Ada's exchange is closed", func() bool {
		list := ada.exchanges()
		return len(list) == 1 && list[0].State == "closed"
	})

	// The place passed all of it on and read nothing.
	for _, text := range []string{secret, "offer_skill\",\"from", "How to brew tea", "skill_summary"} {
		if found := middle.mentions(text); len(found) > 0 {
			t.Errorf("the place knows %q: %v", text, found)
		}
	}
	if found := bob.mentions(secret); len(found) == 0 {
		t.Error("the check finds nothing where it should: Bob's own store")
	}

	// Taken back, it is gone.
	bob.post("/api/skills/received/"+waiting.ID+"/revoke", map[string]any{"reason": "cold tea"}, nil)
	if got := bob.received()[0]; got.State != "revoked" {
		t.Errorf("revoked: %+v", got)
	}
	if files, _ := filepath.Glob(bob.Path("skills/received/*.md")); len(files) != 0 {
		t.Errorf("a revoked skill is in the folder: %v", files)
	}
}

func TestKill9OfThePlaceBetweenOfferAndReceiptLosesNothing(t *testing.T) {
	// The place belongs to Bob's hub: killing it kills relay and recipient at once.
	ada := hub{hubtest.New(t, hubtest.Config{Env: []string{hubtest.Visits}}), t}
	if err := os.MkdirAll(ada.Path("skills"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(ada.Path("skills/tea.md"), []byte(tea), 0o600); err != nil {
		t.Fatal(err)
	}
	ada.Restart()
	bob := hub{hubtest.Start(t, hubtest.Config{Env: []string{hubtest.Visits}}), t}
	bobID := bob.agent()
	_, at := ada.visit(bob)
	bob.Kill9()
	// Ada's hub has said yes to the offer while nobody could take it; then it dies too.
	ada.post("/api/skills/offer", map[string]any{"to": bobID, "place": at, "skill": "tea"}, nil)
	ada.Kill9()
	ada.Restart()
	bob.Restart()
	bob.agent()
	ada.visit(bob)
	bob.until("the skill arrives and Bob is asked", func() bool { return len(bob.received()) == 1 && bob.received()[0].Approval != "" })
	var item received
	bob.get("/api/skills/received/"+bob.received()[0].ID, &item)
	bob.post("/api/approvals/"+item.Approval, map[string]any{"approved": false, "reason": "no tea today"}, nil)
	bob.until("it is refused", func() bool { return bob.received()[0].State == "rejected" })
	ada.until("Ada hears of it", func() bool {
		list := ada.exchanges()
		return len(list) == 1 && list[0].State == "declined"
	})
}

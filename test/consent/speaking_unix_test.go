//go:build unix

package consent_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley.internal/test/hubtest"
	"parley.internal/test/pgtest"
)

// told is a rule about what is said to others in somebody's name.
const told = `policy:
  approvals:
    - tools: [place_post, place_send, place_visit, place_meet, "skill_*"]
`

// A rule of the hub's owner bound what agents say to others, and not what a token says: a
// script, or a model with its person's token, posted, wrote and went on visits in the
// person's name, over MCP and over REST, without anybody being asked.
func TestARuleBindsWhatATokenSaysToOthers(t *testing.T) {
	data := filepath.Join(pgtest.Folder(t), "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "parley.yaml"), []byte(told), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &site{Hub: hubtest.Start(t, hubtest.Config{Data: data}), t: t}
	hubtest.Eventually(t, "parley is at the place", func() bool {
		return strings.Contains(string(s.Do("GET", "/api/place/agents", "").Body), `"parley"`)
	})
	token := s.Token("admin")
	for tool, say := range map[string]func() string{
		"place_post": func() string {
			return s.overMCP(token, "place_post", map[string]any{"type": "announcement", "skill_name": "tea"})
		},
		"place_send": func() string {
			return s.overMCP(token, "place_send", map[string]any{"to": "carol", "content": "hello"})
		},
		"skill_note": func() string {
			return string(s.As(token, "POST", "/api/skills/note", `{"to":"carol","text":"hello"}`).Body)
		},
		"place_visit": func() string {
			return string(s.As(token, "POST", "/api/place/visits", `{"agent":"parley","url":"https://place.example.org"}`).Body)
		},
		"place_meet": func() string {
			return string(s.As(token, "POST", "/api/place/meet", `{"agent":"parley","url":"https://agent.example.org"}`).Body)
		},
	} {
		said := make(chan string, 1)
		go func() { said <- say() }()
		var q question
		hubtest.Eventually(t, tool+" asks first", func() bool { q = s.questionOf(tool); return q.ID != "" })
		if a := s.answer(token, q.ID, true); a.Status != http.StatusForbidden {
			t.Errorf("%s: the token that asks could answer: %d %s", tool, a.Status, a.Body)
		}
		if a := s.answer(s.Owner, q.ID, false); a.Status != http.StatusOK {
			t.Fatalf("%s: the owner could not answer: %d %s", tool, a.Status, a.Body)
		}
		if text := <-said; !strings.Contains(text, "denied") {
			t.Errorf("%s after a no: %s, expected that it is denied", tool, text)
		}
	}
	if a := s.Do("GET", "/api/place/postings", ""); strings.Contains(string(a.Body), "tea") {
		t.Errorf("the posting is on the board after a no: %s", a.Body)
	}
	yes := make(chan string, 1)
	go func() {
		yes <- s.overMCP(token, "place_post", map[string]any{"type": "announcement", "skill_name": "tea"})
	}()
	var q question
	hubtest.Eventually(t, "the second posting asks", func() bool { q = s.questionOf("place_post"); return q.ID != "" })
	s.answer(s.Owner, q.ID, true)
	if text := <-yes; !strings.Contains(string(s.Do("GET", "/api/place/postings", "").Body), "tea") {
		t.Errorf("the posting is not on the board after a yes: %s", text)
	}
}

// questionOf is the question about a tool that waits.
func (s *site) questionOf(tool string) question {
	var list struct {
		Approvals []question `json:"approvals"`
	}
	_ = json.Unmarshal(s.Do("GET", "/api/approvals", "").Body, &list)
	for _, q := range list.Approvals {
		if q.Tool == tool {
			return q
		}
	}
	return question{}
}

//go:build unix

package consent_test

import (
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"

	"parley.internal/test/hubtest"
)

// everyWay is what a token needs to come every way, and nothing that would spare it
// the question.
var everyWay = []string{"fleet:read", "fleet:sensitive", "fleet:call", "talk", "task:read", "task:submit", "approval:respond"}

// A token that may change machines is asked about it, whatever way it comes: over
// REST and from the command line with --yes as over MCP, for one machine and for all,
// and when it lets an agent of the hub do it. Nobody may answer who could not do it,
// nor may the token that asks; a no runs nothing and is on record.
func TestATokenIsAskedWhateverWayItComes(t *testing.T) {
	s := newSite(t)
	plain := s.Token(everyWay...)
	phone := s.Token("approval:respond")
	elsewhere := s.Token("approval:respond", "fleet:call", "machine:other")
	for name, w := range ways {
		for _, yes := range []bool{true, false} {
			file, script := s.mark()
			over, _ := s.start(w, plain, script)
			q := s.theQuestion(name, script)
			if there(file) {
				t.Errorf("%s: it ran before anybody answered", name)
			}
			for who, token := range map[string]string{"the token that asks": plain, "a token without fleet:call": phone, "a token for another machine": elsewhere} {
				if a := s.answer(token, q.ID, true); a.Status != http.StatusForbidden {
					t.Errorf("%s: %s could answer: %d %s", name, who, a.Status, a.Body)
				}
			}
			if a := s.answer(s.Owner, q.ID, yes); a.Status != http.StatusOK {
				t.Fatalf("%s: the owner could not answer: %d %s", name, a.Status, a.Body)
			}
			said := over()
			if there(file) != yes {
				t.Errorf("%s: answered %v, ran %v; it said: %s", name, yes, there(file), said)
			}
			if name != "task" && name != "conversation" && !yes && !strings.Contains(said, "denied") {
				t.Errorf("%s: a no was not told: %s", name, said)
			}
		}
	}
	s.isOnRecord("denied", len(ways))
}

// isOnRecord checks that as many calls ended with a code in the call log and the trail.
func (s *site) isOnRecord(code string, want int) {
	s.t.Helper()
	var log struct {
		Calls []struct {
			Code string `json:"code"`
		} `json:"calls"`
	}
	if a := s.Do("GET", "/api/fleet/calls", ""); json.Unmarshal(a.Body, &log) != nil {
		s.t.Fatalf("the call log: %d %s", a.Status, a.Body)
	}
	n := 0
	for _, c := range log.Calls {
		if c.Code == code {
			n++
		}
	}
	if n != want {
		s.t.Errorf("the call log has %d calls that were %s, want %d", n, code, want)
	}
	hubtest.Eventually(s.t, "the trail has every call that was "+code, func() bool {
		var trail struct {
			Entries []struct {
				Action  string `json:"action"`
				Outcome string `json:"outcome"`
			} `json:"entries"`
		}
		a := s.Do("GET", "/api/audit?action=fleet.call&limit=500", "")
		if json.Unmarshal(a.Body, &trail) != nil {
			s.t.Fatalf("the trail: %d %s", a.Status, a.Body)
		}
		n := 0
		for _, e := range trail.Entries {
			if e.Outcome == code {
				n++
			}
		}
		return n == want
	})
}

// Who was given fleet:unattended by name is asked nowhere.
func TestAnUnattendedTokenIsAskedNowhere(t *testing.T) {
	s := newSite(t)
	token := s.Token(append([]string{"fleet:unattended"}, everyWay...)...)
	for name, w := range ways {
		file, script := s.mark()
		if said := w(s, token, script); !there(file) {
			t.Errorf("%s: nothing ran: %s", name, said)
		}
	}
	if open := s.asked(); len(open) > 0 {
		t.Errorf("asked although it need not: %+v", open)
	}
}

// browser is a page that was logged in.
func (s *site) browser(login string) func(path, body string) (int, string) {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	transport := &http.Transport{}
	s.t.Cleanup(transport.CloseIdleConnections)
	c, csrf := &http.Client{Transport: transport, Jar: jar}, ""
	post := func(path, body string) (int, string) {
		req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.URL+path, strings.NewReader(body))
		if err != nil {
			s.t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Origin", s.URL)
		req.Header.Set("X-Parley-CSRF", csrf)
		res, err := c.Do(req)
		if err != nil {
			s.t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		var raw json.RawMessage
		_ = json.NewDecoder(res.Body).Decode(&raw)
		return res.StatusCode, string(raw)
	}
	var opened struct {
		CSRF string `json:"csrf"`
	}
	if status, answer := post("/api/session", login); status > 299 || json.Unmarshal([]byte(answer), &opened) != nil {
		s.t.Fatalf("no login: %d %s", status, answer)
	}
	csrf = opened.CSRF
	return post
}

// On a page a person confirms there, and that is all. A page that a token opened is
// that token: a script could have opened it.
func TestAPersonOnThePageIsNotAskedASecondTime(t *testing.T) {
	s := newSite(t)
	var link struct {
		Secret string `json:"secret"`
		Path   string `json:"path"`
	}
	if a := s.Do("POST", "/api/login-links", `{}`); json.Unmarshal(a.Body, &link) != nil {
		t.Fatalf("no link: %s", a.Body)
	}
	secret := link.Secret
	if secret == "" {
		_, secret, _ = strings.Cut(link.Path, "#login=")
	}
	file, script := s.mark()
	page := s.browser(`{"login":` + quoted(secret) + `}`)
	if status, answer := page("/api/machines/"+machineID+"/calls", body(script)); status != http.StatusOK || !there(file) {
		t.Errorf("a person on the page: %d %s", status, answer)
	}
	file, script = s.mark()
	page = s.browser(`{"token":` + quoted(s.Token(everyWay...)) + `}`)
	status, answer := page("/api/machines/"+machineID+"/calls", strings.TrimSuffix(body(script), "}")+`,"approval_wait_s":0}`)
	if status != http.StatusAccepted || !strings.Contains(answer, "approval_pending") || there(file) {
		t.Errorf("a page that a token opened: %d %s", status, answer)
	}
}

// An agent has at most what its person has: somebody who may only talk reaches no
// machine through one, not even to look, and nobody is asked on their behalf.
func TestAnAgentHasNoMoreThanItsPerson(t *testing.T) {
	s := newSite(t)
	for name, scopes := range map[string][]string{
		"no machines":     {"talk", "task:read", "task:submit", "approval:respond"},
		"another machine": {"talk", "task:read", "task:submit", "approval:respond", "fleet:read", "fleet:call", "machine:other"},
		"only looking":    {"talk", "task:read", "task:submit", "approval:respond", "fleet:read"},
	} {
		token := s.Token(scopes...)
		for _, way := range []string{"conversation", "task"} {
			file, script := s.mark()
			over, ended := s.start(ways[way], token, script)
			var open []question
			hubtest.Eventually(t, name+" in a "+way+": it ends, or somebody is asked", func() bool {
				open = s.asked()
				return ended() || len(open) > 0
			})
			for _, q := range open {
				t.Errorf("%s in a %s: asked %+v", name, way, q)
				s.answer(s.Owner, q.ID, false)
			}
			if said := over(); there(file) {
				t.Errorf("%s in a %s: it ran, and said: %s", name, way, said)
			}
		}
	}
}

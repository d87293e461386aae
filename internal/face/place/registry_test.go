package place_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"parley.internal/internal/face/front"
	faceplace "parley.internal/internal/face/place"
	"parley.internal/internal/place"
)

func TestInfoHealthAndWelcomeNeedNoTokenInAnyPolicy(t *testing.T) {
	policies(t, func(t *testing.T, auth place.Auth) {
		w := newWorld(t, policy(auth))
		info := w.want(w.get("/place/v1/info", ""), 200, "")
		if info.str("auth") != string(auth) || info.str("protocol_version") != "1.0.0" || info.str("place_id") == "" {
			t.Errorf("info: %s", info.raw)
		}
		for _, feature := range []string{"registry", "bulletin_board", "message_relay", "e2e_encryption", "audit", "challenge", "long_poll", "ack", "idempotency", "envelope_v2"} {
			if !strings.Contains(string(info.raw), `"`+feature+`"`) {
				t.Errorf("info lacks %s", feature)
			}
		}
		if r := w.want(w.get("/health", ""), 200, ""); r.str("status") != "ok" {
			t.Errorf("health: %s", r.raw)
		}
		w.want(w.get("/place/v1/welcome", ""), 200, "")
	})
}

func TestIdsAreEchoedDerivedOrMade(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct {
		body m
		want string
	}{
		"id":              {m{"id": "ada"}, `^ada$`},
		"agent_id":        {m{"agent_id": "bob.1"}, `^bob\.1$`},
		"id wins":         {m{"id": "cy", "agent_id": "other", "instance_id": "third"}, `^cy$`},
		"instance_id":     {m{"instance_id": "abc123"}, `^agent_abc123$`},
		"nothing":         {m{}, `^agent_[0-9a-f]{16}$`},
		"null is nothing": {m{"id": nil, "agent_id": nil}, `^agent_[0-9a-f]{16}$`},
	} {
		t.Run(name, func(t *testing.T) {
			r := w.want(w.post("/place/v1/register", "", c.body), 200, "")
			if !regexp.MustCompile(c.want).MatchString(r.str("agent_id")) {
				t.Errorf("agent_id %q, want %s", r.str("agent_id"), c.want)
			}
			registered, err1 := time.Parse(time.RFC3339, r.str("registered_at"))
			expires, err2 := time.Parse(time.RFC3339, r.str("expires_at"))
			if err1 != nil || err2 != nil || expires.Sub(registered).Round(time.Minute) != 5*time.Minute {
				t.Errorf("times: %s", r.raw)
			}
		})
	}
}

func TestReRegistrationKeepsItsTimeAndReplacesTheRest(t *testing.T) {
	w := newWorld(t)
	first := w.join("ada")
	w.clock.pass(2 * time.Minute)
	again := w.want(w.post("/place/v1/register", "", m{"id": "ada", "name": "Ada II"}), 200, "")
	if again.str("registered_at") != first.str("registered_at") || again.body["updated"] != true || again.str("expires_at") == first.str("expires_at") {
		t.Errorf("first %s, again %s", first.raw, again.raw)
	}
	if r := w.want(w.get("/place/v1/agents/ada", ""), 200, ""); r.str("name") != "Ada II" {
		t.Errorf("%s; want r.str(\"name\") to be \"Ada II\"", r.raw)
	}
	w.clock.pass(20 * time.Minute)
	if r := w.join("ada"); r.body["updated"] != false || r.str("registered_at") == first.str("registered_at") {
		t.Errorf("an expired registration was kept: %s", r.raw)
	}
}

func TestAgentsAreListedFilteredAndUnregistered(t *testing.T) {
	w := newWorld(t)
	w.want(w.post("/place/v1/register", "", m{"id": "ada", "name": "Ada", "scope": "tea", "capabilities": []string{"brew"}}), 200, "")
	w.clock.pass(time.Second)
	w.want(w.post("/place/v1/register", "", m{"id": "bob", "name": "Bob", "description": "likes TEA", "capabilities": m{"supported_actions": []string{"introduce"}, "brew": true}}), 200, "")
	w.clock.pass(time.Second)
	w.want(w.post("/place/v1/register", "", m{"id": "cy", "name": "Cy"}), 200, "")
	for query, want := range map[string]string{
		"":                   "ada bob cy",
		"?scope=tea":         "ada",
		"?capability=brew":   "ada bob",
		"?search=tea":        "bob",
		"?search=ADA":        "ada",
		"?limit=2":           "ada bob",
		"?scope=none":        "",
		"?include_self=true": "ada bob cy",
	} {
		r := w.want(w.get("/place/v1/agents"+query, ""), 200, "")
		var ids []string
		for _, a := range r.list("agents") {
			agent, _ := a.(map[string]any)
			id, _ := agent["id"].(string)
			ids = append(ids, id)
		}
		if strings.Join(ids, " ") != want || r.num("count") != len(ids) {
			t.Errorf("%q: %v, count %d, want %s", query, ids, r.num("count"), want)
		}
	}
	w.clock.pass(65 * time.Second)
	if r := w.want(w.post("/place/v1/unregister", "", m{"agent_id": "ada"}), 200, ""); r.str("status") != "unregistered" || r.num("was_registered_for") < 65 || r.num("was_registered_for") > 80 {
		t.Errorf("%s", r.raw)
	}
	w.want(w.get("/place/v1/agents/ada", ""), 404, "agent_not_found")
	if r := w.want(w.post("/place/v1/unregister", "", m{"agent_id": "ada"}), 404, ""); r.str("error") != "Agent not found" {
		t.Errorf("%s; want r.str(\"error\") to be \"Agent not found\"", r.raw)
	}
	w.want(w.post("/place/v1/unregister", "", m{}), 400, "")
}

func TestHeartbeatKeepsAliveRevivesAndForgets(t *testing.T) {
	w := newWorld(t)
	w.join("ada")
	w.clock.pass(4 * time.Minute)
	if r := w.want(w.post("/place/v1/heartbeat", "", m{"agent_id": "ada"}), 200, ""); r.str("status") != "active" {
		t.Errorf("%s; want r.str(\"status\") to be \"active\"", r.raw)
	}
	w.clock.pass(4 * time.Minute)
	w.want(w.get("/place/v1/agents/ada", ""), 200, "")
	w.clock.pass(3 * time.Minute)
	w.want(w.get("/place/v1/agents/ada", ""), 404, "")
	w.want(w.post("/place/v1/heartbeat", "", m{"agent_id": "ada"}), 200, "")
	w.want(w.get("/place/v1/agents/ada", ""), 200, "")
	w.clock.pass(11 * time.Minute)
	if r := w.want(w.post("/place/v1/heartbeat", "", m{"agent_id": "ada"}), 404, ""); r.str("error") != "Agent not found" {
		t.Errorf("%s; want r.str(\"error\") to be \"Agent not found\"", r.raw)
	}
	if r := w.want(w.post("/place/v1/heartbeat", "", m{}), 400, ""); r.str("error") != "agent_id is required" {
		t.Errorf("%s; want r.str(\"error\") to be \"agent_id is required\"", r.raw)
	}
}

func TestExpiryIsExactWithoutASweepAndTheSweepRemovesWhatIsOver(t *testing.T) {
	w := newWorld(t)
	w.join("ada")
	w.clock.pass(301 * time.Second)
	if r := w.want(w.get("/place/v1/agents", ""), 200, ""); r.num("count") != 0 {
		t.Errorf("%s; want r.num(\"count\") to be 0", r.raw)
	}
	w.clock.pass(400 * time.Second)
	if err := w.place.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.want(w.post("/place/v1/heartbeat", "", m{"agent_id": "ada"}), 404, "")
}

func TestUnknownPathsMethodsAndErrorsHaveTheProtocolsShape(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{"/place/v1/nope", "/place/v1/info/", "/place/v1/agents/", "/place/v1/agents/a/b", "/place/v1/", "/meeting/v1/nope", "/health/"} {
		if r := w.want(w.get(path, ""), 404, "not_found"); r.str("error") != "Not found" || r.str("message") == "" {
			t.Errorf("%s: %s; want r.str(\"error\") to be \"Not found\", r.str(\"message\") not to be \"\"", path, r.raw)
		}
	}
	for path, allow := range map[string]string{"/place/v1/register": "POST", "/place/v1/info": "GET", "/place/v1/board/needs": "POST, DELETE", "/place/v1/deposit/x": "PUT, DELETE"} {
		r := w.want(w.do("PATCH", path, "", nil), 405, "method_not_allowed")
		if r.header.Get("Allow") != allow || r.str("error") != "Method not allowed" {
			t.Errorf("%s: Allow %q, %s", path, r.header.Get("Allow"), r.raw)
		}
	}
	// The first generation shows the text to people; the second reads the code.
	if r := w.want(w.post("/place/v1/heartbeat", "", m{}), 400, ""); r.str("error") != "agent_id is required" || r.code() != "missing_field" {
		t.Errorf("%s; want r.str(\"error\") to be \"agent_id is required\", r.code() to be \"missing_field\"", r.raw)
	}
	if r := w.want(w.post("/place/v1/deposit", "", m{}), 401, ""); r.str("error") != r.code() {
		t.Errorf("%s", r.raw)
	}
	w.want(w.get("/meeting/v1/skillset_export", ""), 403, "skillset_exchange_disabled")
	w.want(w.post("/place/v1/skillset_deposit", "", m{}), 403, "skillset_exchange_disabled")
}

func TestOversizedBodiesGetTheirAnswer(t *testing.T) {
	w := newWorld(t)
	for path, size := range map[string]int{
		"/place/v1/register": 300 << 10, "/place/v1/relay/send": 5 << 20, "/meeting/v1/message": 2 << 20,
	} {
		r := w.post(path, "", `{"id":"`+strings.Repeat("a", size)+`"}`)
		if r.status != http.StatusRequestEntityTooLarge || r.code() != "body_too_large" {
			t.Errorf("%s: %d %s; want r.status to be %v, r.code() to be \"body_too_large\"", path, r.status, clip(r.raw), http.StatusRequestEntityTooLarge)
		}
	}
	w.want(w.get("/place/v1/info", ""), 200, "")
}

func TestTheExamplesOfTheProtocolTextWork(t *testing.T) {
	w := newWorld(t)
	r := w.want(w.post("/place/v1/register", "", `{
  "name": "My Agent",
  "instance_id": "abc123",
  "capabilities": ["introduce", "offer_skill"],
  "public_endpoint": "https://myagent.example.com/mmp"
}`), 200, "")
	if r.str("agent_id") != "agent_abc123" || r.str("status") != "registered" || r.str("expires_at") == "" {
		t.Errorf("%s", r.raw)
	}
	if a := w.want(w.get("/place/v1/agents/agent_abc123", ""), 200, ""); a.str("endpoint") != "https://myagent.example.com/mmp" {
		t.Errorf("%s; want a.str(\"endpoint\") to be \"https://myagent.example.com/mmp\"", a.raw)
	}
	sent := w.want(w.post("/place/v1/relay/send", "", envelope("agent_abc123", "agent_xyz789", "BASE64_ENCODED_ENCRYPTED_MESSAGE")), 201, "")
	if !regexp.MustCompile(`^relay_[0-9a-f]{16}$`).MatchString(sent.str("relay_id")) || sent.str("status") != "queued" || sent.str("expires_at") == "" {
		t.Errorf("%s", sent.raw)
	}
}

func TestNewIdsOfAnAddressAreLimitedAndLoopbackIsNot(t *testing.T) {
	w := newWorld(t)
	for i := range 70 {
		if r := w.post("/place/v1/register", "", m{}); r.status != 200 {
			t.Fatalf("registration %d: %s", i, r.raw)
		}
	}
	strange := newWorld(t, func(c *place.Config, _ *place.Deps, fd *faceplace.Deps) { c.NewIDs = 3; fd.Proxied = true })
	for i := range 3 {
		strange.want(strange.post("/place/v1/register", "", m{"id": "a" + string(rune('0'+i))}), 200, "")
	}
	r := strange.want(strange.post("/place/v1/register", "", m{"id": "b"}), 429, "rate_limited")
	if r.header.Get("Retry-After") == "" || r.num("retry_after") == 0 {
		t.Errorf("%v %s; want r.header.Get(\"Retry-After\") not to be \"\", r.num(\"retry_after\") not to be 0", r.header, r.raw)
	}
	strange.want(strange.post("/place/v1/register", "", m{"id": "a0"}), 200, "")
	strange.want(strange.get("/place/v1/agents/b", ""), 404, "")
}

func TestAPathWithoutItsSlashIsUnknownAndNoDetour(t *testing.T) {
	w := newWorld(t)
	mux := throughDoor(front.New(front.Deps{Guard: anyHost{}, Logger: slog.New(slog.DiscardHandler)}))(w.face)
	for _, path := range []string{"/place/v1", "/meeting/v1", "/place/v1/", "/meeting/v1/"} {
		rec := httptest.NewRecorder()
		mux.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		if rec.Code != 404 || !strings.Contains(rec.Body.String(), `"error":"Not found"`) {
			t.Errorf("%s: %d %s; want rec.Code to be 404, \"\"error\":\"Not found\"\" in it", path, rec.Code, rec.Body)
		}
	}
}

func TestStatsSumAllScopes(t *testing.T) {
	w := newWorld(t, policy(place.Open))
	for i, scope := range []string{"tea", "tea", "coffee"} {
		w.want(w.post("/place/v1/register", "", m{"id": fmt.Sprint("a", i), "scope": scope}), 200, "")
	}
	registry, _ := w.want(w.get("/place/v1/stats", ""), 200, "").body["registry"].(map[string]any)
	scopes, _ := registry["by_scope"].(map[string]any)
	if registry["total_agents"] != 3.0 || scopes["tea"] != 2.0 || scopes["coffee"] != 1.0 || registry["oldest_registration"] == nil || registry["newest_registration"] == nil {
		t.Errorf("%v", registry)
	}
}

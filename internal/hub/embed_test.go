package hub_test

import (
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"parley.internal/internal/hub/config"
)

const (
	listedSite = "http://localhost:5173" // the same site as the hub: a browser sends it the hub's cookie
	evilSite   = "https://evil.example"
)

// embedding is a hub with a room that one website may show.
func embedding(t *testing.T) *rig {
	t.Helper()
	r := newRig(t, func(c *config.Config) { c.Rooms.Origins = []string{listedSite} })
	if got := r.do(ask{method: "POST", path: "/api/rooms", token: r.owner, body: `{"room":"table"}`}); got.status != http.StatusCreated {
		t.Fatalf("no room: %d %s", got.status, got.body)
	}
	return r
}

func origin(o string) map[string]string { return map[string]string{"Origin": o} }

// A page on another port of the same host is of the same site, so SameSite cookies go
// along with its requests. If the hub looked at them, whoever serves a listed page would
// act as whoever visits it.
func TestAListedWebsiteDoesNotActAsWhoeverVisitsIt(t *testing.T) {
	r := embedding(t)
	browser, csrf := r.browser()
	with := origin(listedSite)
	with["X-Parley-CSRF"] = csrf
	for _, a := range []ask{
		{method: "GET", path: "/api/rooms"},
		{method: "GET", path: "/api/rooms/table/roster"},
		{method: "POST", path: "/api/rooms", body: `{"room":"mine"}`},
	} {
		a.client, a.header = browser, with
		if got := r.do(a); got.status != http.StatusUnauthorized {
			t.Errorf("%s %s of a listed website with the visitor's cookie: %d %s", a.method, a.path, got.status, got.body)
		}
	}
	if got := r.do(ask{method: "GET", path: "/api/rooms", header: with, token: r.owner}); got.status != http.StatusOK {
		t.Errorf("a listed website with a token that somebody gave it: %d", got.status)
	}
	jar := browser.Jar.(*cookiejar.Jar)
	base, _ := url.Parse(r.url)
	header := http.Header{"Origin": {listedSite}}
	for _, c := range jar.Cookies(base) {
		header.Add("Cookie", c.String())
	}
	frames := r.enter(t, header)
	if !strings.Contains(frames, "gate.missing") {
		t.Errorf("the socket of a listed website enters as its visitor:\n%s", frames)
	}
	header.Set("Origin", r.url)
	if frames := r.enter(t, header); !strings.Contains(frames, `"tier":"operator"`) {
		t.Errorf("the hub's own page does not enter as its person:\n%s", frames)
	}
}

// enter says hello to the room and gives what comes back until it is decided.
func (r *rig) enter(t *testing.T, header http.Header) string {
	t.Helper()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	c, res, err := websocket.Dial(t.Context(), strings.Replace(r.url, "http", "ws", 1)+"/rooms/table/ws", &websocket.DialOptions{HTTPHeader: header, HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		return http.StatusText(res.StatusCode)
	}
	defer func() { _ = c.CloseNow() }()
	if err := c.Write(t.Context(), websocket.MessageText, []byte(`{"t":"voice","on":true,"name":"x","jwt":"`+header.Get("Test-Pass")+`"}`)); err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for {
		_, data, err := c.Read(t.Context())
		if err != nil {
			t.Fatalf("the room said nothing more after\n%s", all.String())
		}
		all.Write(append(data, '\n'))
		if text := string(data); strings.Contains(text, `"t":"self"`) || strings.Contains(text, `"unverified"`) || strings.Contains(text, `"denied"`) {
			return all.String()
		}
	}
}

func TestPagesOfOtherWebsitesComeInOnlyWhereTheyMay(t *testing.T) {
	r := embedding(t)
	for _, tc := range []struct {
		origin, path string
		status       int
		allowed      string
	}{
		{listedSite, "/api/rooms", http.StatusOK, listedSite},
		{evilSite, "/api/rooms", http.StatusForbidden, ""},
		{"null", "/api/rooms", http.StatusForbidden, ""},
		{listedSite, "/api/tokens", http.StatusForbidden, ""},
		{listedSite, "/api/websites", http.StatusForbidden, ""},
		{listedSite, "/", http.StatusForbidden, ""},
		{listedSite, "/place/v1/info", http.StatusForbidden, ""},
		{evilSite, "/sdk/origin", http.StatusOK, "*"},
		{evilSite, "/sdk/", http.StatusOK, "*"},
	} {
		got := r.do(ask{method: "GET", path: tc.path, header: origin(tc.origin), token: r.owner})
		if got.status != tc.status || got.header.Get("Access-Control-Allow-Origin") != tc.allowed {
			t.Errorf("%s for a page of %s: %d, allowed to %q; want %d, %q", tc.path, tc.origin, got.status, got.header.Get("Access-Control-Allow-Origin"), tc.status, tc.allowed)
		}
		if got.header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s lets a page of %s use credentials of the browser", tc.path, tc.origin)
		}
	}
	if got := r.enter(t, http.Header{"Origin": {evilSite}}); got != "Forbidden" {
		t.Errorf("a page of a website that is not listed reaches a room:\n%s", got)
	}
	got := r.do(ask{method: "GET", path: "/sdk/origin", header: origin(evilSite)})
	if !strings.Contains(string(got.body), `"listed":false`) || got.header.Get("Cross-Origin-Resource-Policy") != "cross-origin" {
		t.Errorf("a page cannot find out that its website is not listed: %s", got.body)
	}
}

func TestABrowserIsToldWhatAPageMaySend(t *testing.T) {
	r := embedding(t)
	for _, tc := range []struct {
		origin, method, path string
		status               int
	}{
		{listedSite, "PUT", "/api/rooms/table/policy", http.StatusNoContent},
		{listedSite, "POST", "/api/rooms/table/pass", http.StatusForbidden},
		{listedSite, "POST", "/api/tokens", http.StatusForbidden},
		{evilSite, "PUT", "/api/rooms/table/policy", http.StatusForbidden},
	} {
		header := origin(tc.origin)
		header["Access-Control-Request-Method"] = tc.method
		got := r.do(ask{method: "OPTIONS", path: tc.path, header: header})
		if got.status != tc.status || got.header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("a browser asks whether %s may send %s %s: %d, want %d", tc.origin, tc.method, tc.path, got.status, tc.status)
		}
	}
}

func TestAPersonGivesAPageAPassToOneRoomAndNothingElse(t *testing.T) {
	r := embedding(t)
	browser, csrf := r.browser()
	header := map[string]string{"X-Parley-CSRF": csrf}
	no := r.do(ask{method: "POST", path: "/api/rooms/table/pass", client: browser, header: header, body: `{"origin":"` + evilSite + `"}`})
	if no.status != http.StatusForbidden || no.code(t) != "origin_not_listed" {
		t.Errorf("a pass for a website that is not listed: %d %s", no.status, no.body)
	}
	yes := r.do(ask{method: "POST", path: "/api/rooms/table/pass", client: browser, header: header, body: `{"origin":"` + listedSite + `"}`})
	var pass struct{ Token string }
	if err := json.Unmarshal(yes.body, &pass); err != nil || yes.status != http.StatusCreated {
		t.Fatalf("no pass: %d %s", yes.status, yes.body)
	}
	frames := r.enter(t, http.Header{"Origin": {listedSite}, "Test-Pass": {pass.Token}})
	if !strings.Contains(frames, `"t":"self"`) || strings.Contains(frames, `"tier"`) {
		t.Errorf("with a pass of the room's owner a page should be a member and no host:\n%s", frames)
	}
	if got := r.do(ask{method: "GET", path: "/api/rooms", token: pass.Token}); got.status != http.StatusUnauthorized {
		t.Errorf("a pass opens the REST interface, too: %d", got.status)
	}
	if got := r.do(ask{method: "POST", path: "/api/rooms/table/pass", token: r.owner, header: origin(listedSite), body: `{"origin":"` + listedSite + `"}`}); got.status != http.StatusForbidden {
		t.Errorf("a website made a pass for itself: %d", got.status)
	}
	// Whoever may not be in the room has no other way in by a page of theirs.
	made := r.do(ask{method: "POST", path: "/api/tokens", token: r.owner, body: `{"name":"b","principal":"bob","scopes":["rooms"]}`})
	var token struct{ Token string }
	if err := json.Unmarshal(made.body, &token); err != nil || token.Token == "" {
		t.Fatalf("no token for bob: %s", made.body)
	}
	guest := token.Token
	bob := ask{method: "POST", path: "/api/rooms/table/pass", token: guest, body: `{"origin":"` + listedSite + `"}`}
	got := r.do(bob)
	if err := json.Unmarshal(got.body, &pass); err != nil || got.status != http.StatusCreated {
		t.Fatalf("no pass for bob: %d %s", got.status, got.body)
	}
	ban := r.do(ask{method: "POST", path: "/api/rooms/table/commands", token: r.owner, body: `{"op":"ban","target":"person:bob"}`})
	if ban.status != http.StatusOK {
		t.Fatalf("bob is not barred: %d %s", ban.status, ban.body)
	}
	if frames := r.enter(t, http.Header{"Origin": {listedSite}, "Test-Pass": {pass.Token}}); !strings.Contains(frames, "kicked") {
		t.Errorf("barred, bob comes in by the page he gave a pass:\n%s", frames)
	}
	if got := r.do(bob); got.status == http.StatusCreated {
		t.Error("barred, bob gets another pass")
	}
}

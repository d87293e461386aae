package hub_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley.internal/internal/face/front"
	"parley.internal/internal/hub"
	"parley.internal/internal/hub/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a hub behind a real socket.
type rig struct {
	*hub.Hub
	t     *testing.T
	url   string
	owner string
	conf  config.Config
}

func newRig(t *testing.T, change ...func(*config.Config)) *rig {
	t.Helper()
	conf, err := config.Load(config.Sources{Data: t.TempDir() + "/data"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range change {
		c(&conf)
	}
	h, err := hub.Open(t.Context(), conf, hub.Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h.Handler())
	t.Cleanup(func() { server.CloseClientConnections(); server.Close(); h.Close() })
	owner, err := hub.Folder(conf.Data).OwnerToken()
	if err != nil {
		t.Fatal(err)
	}
	return &rig{Hub: h, t: t, url: server.URL, owner: owner, conf: conf}
}

// ask is one request and its answer.
type ask struct {
	method, path, token string
	body                string
	header              map[string]string
	client              *http.Client
	host                string
}

type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) code(t *testing.T) string {
	t.Helper()
	var p front.Problem
	if err := json.Unmarshal(a.body, &p); err != nil {
		t.Fatalf("no problem document: %d %q", a.status, a.body)
	}
	if p.Code != p.Err.Code || p.Status != a.status || p.RequestID == "" || p.Detail == "" || a.header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("an incomplete problem: %s", a.body)
	}
	return p.Code
}

func (r *rig) do(a ask) answer {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), a.method, r.url+a.path, strings.NewReader(a.body))
	if err != nil {
		r.t.Fatal(err)
	}
	if a.token != "" {
		req.Header.Set("Authorization", "Bearer "+a.token)
	}
	if a.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range a.header {
		req.Header.Set(name, value)
	}
	if a.host != "" {
		req.Host = a.host
	}
	client := a.client
	if client == nil {
		client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	}
	res, err := client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, body}
}

func (r *rig) token(scopes ...string) (id, secret string) {
	r.t.Helper()
	body, _ := json.Marshal(map[string]any{"name": "t", "scopes": scopes})
	got := r.do(ask{method: "POST", path: "/api/tokens", token: r.owner, body: string(body)})
	var out struct{ ID, Token string }
	if err := json.Unmarshal(got.body, &out); err != nil || got.status != http.StatusOK {
		r.t.Fatalf("%d %s", got.status, got.body)
	}
	return out.ID, out.Token
}

// browser is a client with a cookie jar that has logged in by a link.
func (r *rig) browser() (client *http.Client, csrf string) {
	r.t.Helper()
	jar, _ := cookiejar.New(nil)
	client = &http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}}
	got := r.do(ask{method: "POST", path: "/api/session", client: client, body: fmt.Sprintf(`{"login":%q}`, r.secret())})
	var out struct{ CSRF string }
	if err := json.Unmarshal(got.body, &out); err != nil || got.status != http.StatusOK || out.CSRF == "" {
		r.t.Fatalf("login: %d %s", got.status, got.body)
	}
	return client, out.CSRF
}

func (r *rig) secret() string {
	r.t.Helper()
	link, err := r.LoginLink(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	_, secret, _ := strings.Cut(link, "#login=")
	return secret
}

func TestEveryRouteWantsToKnowWhoCalls(t *testing.T) {
	r := newRig(t)
	var doc struct {
		Paths map[string]map[string]struct {
			Security []map[string][]string `json:"security"`
		} `json:"paths"`
	}
	got := r.do(ask{method: "GET", path: "/api/openapi.json"})
	if err := json.Unmarshal(got.body, &doc); err != nil {
		t.Fatal(err)
	}
	public, asked := 0, 0
	for path, methods := range doc.Paths {
		for method, op := range methods {
			if len(op.Security) == 1 && len(op.Security[0]) == 0 {
				public++
				continue
			}
			asked++
			path := strings.NewReplacer("{id}", "x", "{name}", "x").Replace(path)
			if got := r.do(ask{method: strings.ToUpper(method), path: path, body: "{}"}); got.status != http.StatusUnauthorized || got.code(t) != "unauthorized" {
				t.Errorf("%s %s without a credential: %d %s", method, path, got.status, got.body)
			}
		}
	}
	if asked < 10 || public != 2 {
		t.Errorf("%d routes ask, %d are public; only the two of logging in may be", asked, public)
	}
}

func TestLoginLinkWorksOnceAlsoInARace(t *testing.T) {
	r := newRig(t)
	body := fmt.Sprintf(`{"login":%q}`, r.secret())
	var wg sync.WaitGroup
	var mu sync.Mutex
	statuses := map[int]int{}
	for range 4 {
		wg.Go(func() {
			got := r.do(ask{method: "POST", path: "/api/session", body: body})
			mu.Lock()
			defer mu.Unlock()
			statuses[got.status]++
		})
	}
	wg.Wait()
	if statuses[http.StatusOK] != 1 || statuses[http.StatusUnauthorized] != 3 {
		t.Errorf("%v; want statuses[http.StatusOK] to be 1, statuses[http.StatusUnauthorized] to be 3", statuses)
	}
}

func TestCookieIsOutOfReachOfScriptsAndOtherSites(t *testing.T) {
	r := newRig(t)
	got := r.do(ask{method: "POST", path: "/api/session", body: fmt.Sprintf(`{"login":%q}`, r.secret())})
	cookie := got.header.Get("Set-Cookie")
	for _, want := range []string{"HttpOnly", "SameSite=Strict", "Path=/"} {
		if !strings.Contains(cookie, want) {
			t.Errorf("%q lacks %s", cookie, want)
		}
	}
}

func TestTheCookieStaysOnEncryptedConnections(t *testing.T) {
	for _, c := range []struct {
		what string
		tls  *tls.ConnectionState
		want bool
	}{{"over TLS", &tls.ConnectionState{}, true}, {"without TLS", nil, false}} {
		r := httptest.NewRequest(http.MethodPost, "/api/session", nil)
		r.TLS = c.tls
		for name, write := range map[string]func(http.ResponseWriter){
			"logging in":  func(w http.ResponseWriter) { front.SetCookie(w, r, "value", time.Now().Add(time.Hour)) },
			"logging out": func(w http.ResponseWriter) { front.ClearCookie(w, r) },
		} {
			w := httptest.NewRecorder()
			write(w)
			if cookies := w.Result().Cookies(); len(cookies) != 1 || cookies[0].Secure != c.want {
				t.Errorf("%s %s: got %v, want one cookie with Secure = %v", name, c.what, cookies, c.want)
			}
		}
	}
}

func TestChangesByThePageNeedItsCSRFToken(t *testing.T) {
	r := newRig(t)
	client, csrf := r.browser()
	body := `{"name":"x","scopes":["task"]}`
	if got := r.do(ask{method: "GET", path: "/api/tokens", client: client}); got.status != http.StatusOK {
		t.Errorf("reading: %d %s", got.status, got.body)
	}
	for _, token := range []string{"", "wrong", csrf[1:]} {
		got := r.do(ask{method: "POST", path: "/api/tokens", client: client, body: body, header: map[string]string{front.CSRFHeader: token}})
		if got.status != http.StatusForbidden || got.code(t) != "csrf" {
			t.Errorf("token %q: %d %s", token, got.status, got.body)
		}
	}
	got := r.do(ask{method: "POST", path: "/api/tokens", client: client, body: body, header: map[string]string{front.CSRFHeader: csrf}})
	if got.status != http.StatusOK {
		t.Errorf("with the token: %d %s", got.status, got.body)
	}
}

func TestLoggedOutIsLoggedOut(t *testing.T) {
	r := newRig(t)
	client, csrf := r.browser()
	cookie := client.Jar.Cookies(mustRequest(t, r.url).URL)[0]
	if got := r.do(ask{method: "DELETE", path: "/api/session", client: client, header: map[string]string{front.CSRFHeader: csrf}}); got.status != http.StatusNoContent {
		t.Fatalf("%d %s; want got.status to be %v", got.status, got.body, http.StatusNoContent)
	}
	got := r.do(ask{method: "GET", path: "/api/session", header: map[string]string{"Cookie": cookie.String()}})
	if got.status != http.StatusUnauthorized {
		t.Errorf("the old cookie still works: %d", got.status)
	}
}

func mustRequest(t *testing.T, url string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func TestForeignOriginAndHostAreRefusedWhateverTheToken(t *testing.T) {
	r := newRig(t)
	for name, a := range map[string]ask{
		"origin":      {header: map[string]string{"Origin": "https://evil.example"}},
		"null origin": {header: map[string]string{"Origin": "null"}},
		"host":        {host: "evil.example"},
	} {
		a.method, a.path, a.token = "GET", "/api/tokens", r.owner
		if got := r.do(a); got.status != http.StatusForbidden || got.code(t) != "foreign_origin" {
			t.Errorf("%s: %d %s; want got.status to be %v, got.code(t) to be \"foreign_origin\"", name, got.status, got.body, http.StatusForbidden)
		}
	}
	if got := r.do(ask{method: "GET", path: "/api/tokens", token: r.owner, header: map[string]string{"Origin": r.url}}); got.status != http.StatusOK {
		t.Errorf("the hub's own origin: %d %s", got.status, got.body)
	}
}

func TestMissingScopeIsNamed(t *testing.T) {
	r := newRig(t)
	_, secret := r.token("task")
	got := r.do(ask{method: "GET", path: "/api/audit", token: secret})
	if got.status != http.StatusForbidden || got.code(t) != "insufficient_scope" || !bytes.Contains(got.body, []byte("audit:read")) {
		t.Errorf("%d %s", got.status, got.body)
	}
	for _, path := range []string{"/debug/pprof/", "/metrics"} {
		if got := r.do(ask{method: "GET", path: path, token: secret}); got.status != http.StatusForbidden {
			t.Errorf("%s: %d; want got.status to be %v", path, got.status, http.StatusForbidden)
		}
		if got := r.do(ask{method: "GET", path: path, token: r.owner}); got.status != http.StatusOK {
			t.Errorf("%s as owner: %d", path, got.status)
		}
	}
}

func TestMadeUpMethodsAreCountedAsOne(t *testing.T) {
	r := newRig(t)
	for _, method := range []string{"BREW", "BREW", "STEEP"} {
		r.do(ask{method: method, path: "/place/v1/info"})
	}
	got := string(r.do(ask{method: "GET", path: "/metrics", token: r.owner}).body)
	if !strings.Contains(got, `parley_http_requests_total{method="other",route="/place/v1/",status="405"} 3`) || strings.Contains(got, "BREW") {
		t.Error(got)
	}
}

func TestTokenCannotGiveMoreThanItHas(t *testing.T) {
	r := newRig(t)
	_, secret := r.token("device", "task:read")
	got := r.do(ask{method: "POST", path: "/api/tokens", token: secret, body: `{"scopes":["*","admin","task:unattended","fleet:unattended"]}`})
	var out struct{ Scopes []string }
	if err := json.Unmarshal(got.body, &out); err != nil || strings.Join(out.Scopes, " ") != "device:manage task:read" {
		t.Errorf("%d %s; want no error, strings.Join(out.Scopes, \" \") to be \"device:manage task:read\"", got.status, got.body)
	}
}

func TestRevokedTokenIsRefused(t *testing.T) {
	r := newRig(t)
	id, secret := r.token("status")
	if got := r.do(ask{method: "GET", path: "/api/status", token: secret}); got.status != http.StatusOK {
		t.Fatalf("%d %s; want got.status to be %v", got.status, got.body, http.StatusOK)
	}
	if got := r.do(ask{method: "DELETE", path: "/api/tokens/" + id, token: r.owner}); got.status != http.StatusNoContent {
		t.Fatalf("%d %s; want got.status to be %v", got.status, got.body, http.StatusNoContent)
	}
	if got := r.do(ask{method: "GET", path: "/api/status", token: secret}); got.status != http.StatusUnauthorized {
		t.Errorf("a revoked token: %d", got.status)
	}
}

func TestBadInputGetsAClearAnswer(t *testing.T) {
	r := newRig(t)
	for name, c := range map[string]struct {
		a      ask
		status int
		code   string
	}{
		"garbage":       {ask{method: "POST", path: "/api/tokens", body: "{nonsense"}, 400, "bad_request"},
		"wrong type":    {ask{method: "POST", path: "/api/tokens", body: `{"name":7}`}, 400, "bad_request"},
		"unknown field": {ask{method: "POST", path: "/api/tokens", body: `{"colour":"x"}`}, 400, "bad_request"},
		"bad number":    {ask{method: "GET", path: "/api/audit?limit=x"}, 400, "bad_request"},
		"negative":      {ask{method: "GET", path: "/api/audit?after=-1"}, 400, "bad_request"},
		// Little enough over the limit that the server takes the rest before it hangs up.
		"too large":     {ask{method: "POST", path: "/api/tokens", body: `{"name":"` + strings.Repeat("x", 1<<20) + `"}`}, 413, "too_large"},
		"no such route": {ask{method: "GET", path: "/api/nothing"}, 404, "not_found"},
		"no such token": {ask{method: "DELETE", path: "/api/tokens/x"}, 404, "not_found"},
		"nothing sent":  {ask{method: "POST", path: "/api/session", body: `{}`}, 400, "bad_request"},
		"a wrong link":  {ask{method: "POST", path: "/api/session", body: `{"login":"x"}`}, 401, "unauthorized"},
	} {
		t.Run(name, func(t *testing.T) {
			c.a.token = r.owner
			got := r.do(c.a)
			if got.status != c.status || got.code(t) != c.code {
				t.Errorf("%d %s; want got.status to be %v, got.code(t) to be %v", got.status, got.body, c.status, c.code)
			}
		})
	}
}

func TestGuessingLocksTheAddressOut(t *testing.T) {
	r := newRig(t)
	for range 5 {
		r.do(ask{method: "POST", path: "/api/session", body: `{"token":"prl_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}`})
	}
	got := r.do(ask{method: "POST", path: "/api/session", body: fmt.Sprintf(`{"login":%q}`, r.secret())})
	if got.status != http.StatusTooManyRequests || got.code(t) != "rate_limited" {
		t.Errorf("the sixth attempt: %d %s", got.status, got.body)
	}
	r.eventually("the trail has five refusals and one lock-out", func() bool {
		got := r.do(ask{method: "GET", path: "/api/audit?action=auth", token: r.owner})
		return bytes.Count(got.body, []byte("auth.refused")) == 5 && bytes.Count(got.body, []byte("auth.locked")) == 1 && !bytes.Contains(got.body, []byte("prl_"))
	})
}

// eventually polls until something that happens soon has happened.
func (r *rig) eventually(what string, ok func() bool) {
	r.t.Helper()
	for range 500 {
		if ok() {
			return
		}
		<-time.After(20 * time.Millisecond)
	}
	r.t.Errorf("it did not happen: %s", what)
}

func TestNothingSecretIsLogged(t *testing.T) {
	var log lockedBuffer
	conf, err := config.Load(config.Sources{Data: t.TempDir() + "/data"})
	if err != nil {
		t.Fatal(err)
	}
	h, err := hub.Open(t.Context(), conf, hub.Options{Logger: log.logger()})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	server := httptest.NewServer(h.Handler())
	defer server.Close()
	owner, _ := hub.Folder(conf.Data).OwnerToken()
	r := &rig{Hub: h, t: t, url: server.URL, owner: owner}
	secret := r.secret()
	r.do(ask{method: "POST", path: "/api/session", body: fmt.Sprintf(`{"login":%q}`, secret)})
	_, made := r.token("task")
	r.do(ask{method: "GET", path: "/api/tokens?token=" + made, token: made})
	for _, s := range []string{owner, secret, made} {
		if strings.Contains(log.String(), s) {
			t.Errorf("a secret is in the log: %s", log.String())
		}
	}
	if !strings.Contains(log.String(), "/api/tokens") {
		t.Error("requests are not logged at all")
	}
}

func TestReadyzTellsTheTruth(t *testing.T) {
	r := newRig(t)
	if got := r.do(ask{method: "GET", path: "/readyz"}); got.status != http.StatusOK {
		t.Errorf("%d %s; want got.status to be %v", got.status, got.body, http.StatusOK)
	}
	if err := os.Chmod(r.conf.Data, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := r.do(ask{method: "GET", path: "/readyz"}); got.status != http.StatusServiceUnavailable || !bytes.Contains(got.body, []byte(`"data folder":false`)) {
		t.Errorf("%d %s; want got.status to be %v, bytes.Contains(got.body, []byte(`\"data folder\":false`))", got.status, got.body, http.StatusServiceUnavailable)
	}
	if got := r.do(ask{method: "GET", path: "/healthz"}); got.status != http.StatusOK {
		t.Errorf("the process lives: %d", got.status)
	}
}

func TestOnlyProxiesAreServedBehindAProxy(t *testing.T) {
	behind := func(list ...string) func(*config.Config) { return func(c *config.Config) { c.BehindProxy = list } }
	stranger := newRig(t, behind("192.0.2.1"))
	if got := stranger.do(ask{method: "GET", path: "/place/v1/info", header: map[string]string{"X-Forwarded-Proto": "https"}}); got.status != http.StatusForbidden || got.code(t) != "not_a_proxy" {
		t.Errorf("%d %s; want got.status to be %v, got.code(t) to be \"not_a_proxy\"", got.status, got.body, http.StatusForbidden)
	}
	r := newRig(t, behind("127.0.0.0/8", "::1"))
	if got := r.do(ask{method: "GET", path: "/place/v1/info"}); got.status != http.StatusForbidden || got.code(t) != "tls_required" {
		t.Errorf("%d %s; want got.status to be %v, got.code(t) to be \"tls_required\"", got.status, got.body, http.StatusForbidden)
	}
	if got := r.do(ask{method: "GET", path: "/place/v1/info", header: map[string]string{"X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.7"}}); got.status != http.StatusOK {
		t.Errorf("%d %s; want got.status to be %v", got.status, got.body, http.StatusOK)
	}
}

// A balancer and a supervisor ask by a bare address, by no name, past the proxy, and without
// the headers a proxy writes. They are answered; nothing else is on those terms.
func TestProbesAreAnsweredHoweverTheyAsk(t *testing.T) {
	behind := newRig(t, func(c *config.Config) { c.BehindProxy = []string{"192.0.2.1"} })
	plain := newRig(t)
	for name, c := range map[string]struct {
		r       *rig
		header  string
		refused string // what everything else is told
	}{
		"an address as its name":    {plain, "Host: 10.1.2.3:8080\r\n", "foreign_origin"},
		"another name":              {plain, "Host: pod-7.cluster.local\r\n", "foreign_origin"},
		"no name":                   {plain, "Host:\r\n", "foreign_origin"},
		"past the proxy, by a name": {behind, "Host: hub.example.org\r\n", ""},
	} {
		for _, path := range []string{"/healthz", "/readyz", "/place/v1/info"} {
			res, body := c.r.raw(t, "GET "+path+" HTTP/1.1\r\n"+c.header+"Connection: close\r\n\r\n")
			if path == "/place/v1/info" {
				if res.StatusCode != http.StatusForbidden || !strings.Contains(body, c.refused) {
					t.Errorf("%s: %s was answered with %d %s, want a refusal", name, path, res.StatusCode, body)
				}
				continue
			}
			if res.StatusCode != http.StatusOK {
				t.Errorf("%s: %s was answered with %d %s, want 200", name, path, res.StatusCode, body)
			}
		}
	}
}

func TestOpeningTwiceIsRefused(t *testing.T) {
	r := newRig(t)
	if _, err := hub.Open(context.WithoutCancel(t.Context()), r.conf, hub.Options{}); err == nil || !strings.Contains(err.Error(), "another hub") {
		t.Errorf("got %v", err)
	}
}

// 'parley status' and 'parley doctor' look whether a hub runs, and hold the lock meanwhile.
func TestAHubStartsWhileACommandLooksAtItsFolder(t *testing.T) {
	conf, err := config.Load(config.Sources{Data: t.TempDir() + "/data"})
	if err != nil {
		t.Fatal(err)
	}
	if err := hub.Folder(conf.Data).Make(); err != nil {
		t.Fatal(err)
	}
	unlock, err := hub.Folder(conf.Data).Lock()
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(120*time.Millisecond, unlock)
	h, err := hub.Open(t.Context(), conf, hub.Options{})
	if err != nil {
		t.Fatalf("the hub did not start: %v", err)
	}
	h.Close()
}

func TestARefusalDoesNotRepeatTheRequest(t *testing.T) {
	r := newRig(t)
	got := r.do(ask{method: "POST", path: "/api/tokens", token: r.owner, body: `{"colour":"a-private-word"}`})
	if got.status != http.StatusBadRequest || bytes.Contains(got.body, []byte("a-private-word")) || !bytes.Contains(got.body, []byte("colour")) {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestPasskeyRoutesReadWhatABrowserSends(t *testing.T) {
	r := newRig(t)
	begun := r.do(ask{method: "POST", path: "/api/passkeys/begin", token: r.owner})
	var c struct{ Ceremony string }
	if err := json.Unmarshal(begun.body, &c); err != nil || begun.status != http.StatusOK || c.Ceremony == "" {
		t.Fatalf("%d %s; want no error, begun.status to be %v, c.Ceremony not to be \"\"", begun.status, begun.body, http.StatusOK)
	}
	// The proof is nonsense; what matters is that it was understood and judged.
	body := fmt.Sprintf(`{"ceremony":%q,"name":"key","response":{"id":"x"}}`, c.Ceremony)
	if got := r.do(ask{method: "POST", path: "/api/passkeys", token: r.owner, body: body}); got.status != http.StatusUnauthorized || got.code(t) != "unauthorized" {
		t.Errorf("adding: %d %s", got.status, got.body)
	}
	body = `{"passkey":{"ceremony":"x","response":{"id":"x"}}}`
	if got := r.do(ask{method: "POST", path: "/api/session", body: body}); got.status != http.StatusUnauthorized || got.code(t) != "unauthorized" {
		t.Errorf("logging in: %d %s", got.status, got.body)
	}
}

// TestRevocationClosesLiveConnections: whoever holds a stream open loses it with
// the credential it was opened with.
func TestRevocationClosesLiveConnections(t *testing.T) {
	r := newRig(t)
	id, secret := r.token("approval")
	req := mustRequest(t, r.url+"/api/events")
	req.Header.Set("Authorization", "Bearer "+secret)
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if r.do(ask{method: "DELETE", path: "/api/tokens/" + id, token: r.owner}).status != http.StatusNoContent {
		t.Fatal("not revoked")
	}
	text, err := io.ReadAll(res.Body)
	if err != nil || !bytes.HasPrefix(text, []byte("event: hello\n")) {
		t.Errorf("%q, %v; want no error, bytes.HasPrefix(text, []byte(\"event: hello\\n\"))", text, err)
	}
}

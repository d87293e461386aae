package mcp_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	facemcp "parley.internal/internal/face/mcp"
	"parley.internal/internal/identity"
)

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`

func TestStrangersAreTurnedAway(t *testing.T) {
	r := newRig(t, facemcp.Limits{Body: 64 << 10}, newProbe().toolset())
	wrong := r.newToken("owner", "audit:read").Secret
	page := must(r.people.OpenPage(t.Context(), identity.Local(r.owner), ""))(t)
	for name, tc := range map[string]struct {
		body   string
		header map[string]string
		status int
		code   string
	}{
		"no token":              {hello, map[string]string{"Authorization": ""}, 401, "unauthorized"},
		"an unknown token":      {hello, map[string]string{"Authorization": "Bearer prl_" + strings.Repeat("A", 43)}, 401, "unauthorized"},
		"another scheme":        {hello, map[string]string{"Authorization": "Basic b3duZXI6eA=="}, 401, "unauthorized"},
		"a page's cookie":       {hello, map[string]string{"Authorization": "", "Cookie": "parley_session=" + page.Cookie}, 401, "unauthorized"},
		"the wrong scope":       {hello, map[string]string{"Authorization": "Bearer " + wrong}, 403, "insufficient_scope"},
		"a foreign page":        {hello, map[string]string{"Origin": "https://evil.example"}, 403, "foreign_origin"},
		"a page of no origin":   {hello, map[string]string{"Origin": "null"}, 403, "foreign_origin"},
		"a rebound name":        {hello, map[string]string{"Host": "evil.example"}, 403, "foreign_origin"},
		"too much":              {`{"x":"` + strings.Repeat("x", 80<<10) + `"}`, nil, 413, "too_large"},
		"too much, alone":       {`{"x":"` + strings.Repeat("x", 80<<10) + `"}`, map[string]string{"Mcp-Protocol-Version": standalone}, 413, ""},
		"garbage":               {`{{{`, nil, 400, ""},
		"garbage, alone":        {`{{{`, map[string]string{"Mcp-Protocol-Version": standalone}, 400, ""},
		"nothing":               {``, nil, 400, ""},
		"no JSON at all":        {hello, map[string]string{"Content-Type": "text/plain"}, 415, ""},
		"not JSON-RPC":          {`[1,2,3]`, nil, 400, ""},
		"an unknown method":     {`{"jsonrpc":"2.0","id":1,"method":"root/shell","params":{}}`, nil, 200, ""},
		"an unknown session":    {hello, map[string]string{"Mcp-Session-Id": "guess"}, 404, ""},
		"a bridge without name": {hello, map[string]string{facemcp.LinkHeader: "x"}, 400, "invalid"},
		"a revision not yet":    {strings.Replace(hello, "initialize", "tools/list", 1), map[string]string{"Mcp-Protocol-Version": "2099-01-01"}, 400, ""},
	} {
		t.Run(name, func(t *testing.T) {
			res, body := r.post("/mcp/probe", tc.body, tc.header)
			if res.StatusCode != tc.status {
				t.Fatalf("%s: %s; want res.StatusCode to be %v", res.Status, body, tc.status)
			}
			var problem struct{ Code string }
			if tc.code != "" && (json.Unmarshal([]byte(body), &problem) != nil || problem.Code != tc.code) {
				t.Errorf("answer %s", body)
			}
			if strings.Contains(body, r.token) {
				t.Error("the answer shows the token")
			}
		})
	}
	if n := r.face.Sessions(); n != 0 {
		t.Errorf("%d sessions are open after nobody was let in", n)
	}
}

func TestARefusalTellsWhereATokenIsToBeHad(t *testing.T) {
	r := newRig(t, facemcp.Limits{}, newProbe().toolset())
	metadata := r.server.URL + "/.well-known/oauth-protected-resource/mcp/probe"
	res, _ := r.post("/mcp/probe", hello, map[string]string{"Authorization": ""})
	want := `Bearer realm="parley", scope="talk rooms", resource_metadata="` + metadata + `"`
	if got := res.Header.Get("WWW-Authenticate"); got != want {
		t.Errorf("401 with %s", got)
	}
	res, _ = r.post("/mcp/probe", hello, map[string]string{"Authorization": "Bearer " + r.newToken("owner", "audit:read").Secret})
	if got := res.Header.Get("WWW-Authenticate"); !strings.Contains(got, `error="insufficient_scope"`) {
		t.Errorf("403 with %s", got)
	}
	for path, resource := range map[string]string{"/mcp/probe": "/mcp/probe", "/mcp": "/mcp", "": "/mcp"} {
		res, body := r.send(http.MethodGet, "/.well-known/oauth-protected-resource"+path, "", map[string]string{"Authorization": ""})
		var found struct {
			Resource string   `json:"resource"`
			Scopes   []string `json:"scopes_supported"`
			Methods  []string `json:"bearer_methods_supported"`
		}
		if err := json.Unmarshal([]byte(body), &found); err != nil || res.StatusCode != 200 || found.Resource != r.server.URL+resource || len(found.Scopes) == 0 || len(found.Methods) != 1 {
			t.Errorf("%s: %s %s", path, res.Status, body)
		}
	}
	if res, _ := r.post("/.well-known/oauth-protected-resource", "", nil); res.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %s", res.Status)
	}
}

// A session id is no credential: only the token that began it may use it.
func TestASessionBelongsToItsToken(t *testing.T) {
	r := newRig(t, facemcp.Limits{}, newProbe().toolset())
	s := r.connect("/mcp/probe", withSessions, options{})
	thief := map[string]string{"Mcp-Session-Id": s.ID(), "Authorization": "Bearer " + r.newToken("owner", "talk").Secret}
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		if res, body := r.send(method, "/mcp/probe", `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`, thief); res.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %s %s; want res.StatusCode to be %v", method, res.Status, body, http.StatusForbidden)
		}
	}
	works(t, s, "echo", map[string]any{"text": "still here"}, `{"said":"still here"}`)
}

func TestATokenCannotTakeEverything(t *testing.T) {
	p := newProbe()
	r := newRig(t, facemcp.Limits{Requests: 2, SessionsPerToken: 2}, p.toolset())
	t.Run("sessions", func(t *testing.T) {
		greedy := r.newToken("owner", "talk").Secret
		header := map[string]string{"Authorization": "Bearer " + greedy}
		for range 2 {
			if res, body := r.post("/mcp/probe", hello, header); res.StatusCode != 200 {
				t.Fatalf("%s %s; want res.StatusCode to be 200", res.Status, body)
			}
		}
		res, body := r.post("/mcp/probe", hello, header)
		if res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") == "" {
			t.Errorf("%s %s; want res.StatusCode to be %v, res.Header.Get(\"Retry-After\") not to be \"\"", res.Status, body, http.StatusTooManyRequests)
		}
		header[facemcp.LinkHeader] = strings.Repeat("b", 32)
		if res, body := r.post("/mcp/probe", hello, header); res.StatusCode != http.StatusTooManyRequests {
			t.Errorf("a bridge: %s %s", res.Status, body)
		}
		works(t, r.connect("/mcp/probe", standalone, options{}), "echo", map[string]any{"text": "others go on"}, `{"said":"others go on"}`)
	})
	t.Run("requests", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var waiting sync.WaitGroup
		defer waiting.Wait()
		defer cancel()
		for range 2 {
			var s *sdk.ClientSession
			eventually(t, "a client is let in", func() (in bool) {
				var err error
				s, err = r.dial("/mcp/probe", standalone, options{})
				return err == nil
			})
			waiting.Go(func() {
				// The request before may still be leaving when this one comes: again, then.
				for ctx.Err() == nil {
					_, _ = s.CallTool(ctx, &sdk.CallToolParams{Name: "wait"})
				}
			})
			<-p.started
		}
		if res, body := r.post("/mcp/probe", hello, nil); res.StatusCode != http.StatusTooManyRequests {
			t.Errorf("%s %s; want res.StatusCode to be %v", res.Status, body, http.StatusTooManyRequests)
		}
		other := r.connect("/mcp/probe", standalone, options{token: r.newToken("owner", "talk").Secret})
		works(t, other, "echo", map[string]any{"text": "others go on"}, `{"said":"others go on"}`)
	})
}

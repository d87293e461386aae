package tunnel_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/internal/face/tunnel"
	"parley.internal/internal/fleet"
	"parley.internal/internal/fleet/update"
	"parley.internal/internal/identity"
	"parley.internal/protocol/kenny"
)

func machineKey(t testing.TB) string {
	t.Helper()
	public, _, err := ed25519.GenerateKey(rand.Reader)
	check(t, err)
	return kenny.FormatPublicKey(public)
}

func TestEnrolmentOverHTTP(t *testing.T) {
	h := newHub(t, options{tunnel: tunnel.Limits{Enrolments: 6}})
	mint := func(id string) string {
		status, body := h.rest("POST", "/api/machines/"+id+"/token", "{}")
		var m struct{ Token, URL string }
		if status != 200 || json.Unmarshal([]byte(body), &m) != nil || m.URL != h.server.URL {
			t.Fatalf("%d %s; want status to be 200, json.Unmarshal([]byte(body), &m) to be nil, m.URL to be %v", status, body, h.server.URL)
		}
		return m.Token
	}
	token := mint("pc")
	key, body := machineKey(t), func(k string) string { return `{"public_key":"` + k + `"}` }
	for _, c := range []struct {
		what, id, token, body string
		want                  int
	}{
		{"no JSON", "pc", token, "junk", 400},
		{"wrong-case key", "pc", token, `{"Public_Key":"` + key + `"}`, 400},
		{"too long", "pc", token, `{"public_key":"` + strings.Repeat("A", 5000) + `"}`, 400},
		{"bad key", "pc", token, body("AAAA"), 400},
		{"bad id", "bad%20id", token, body(key), 400},
		{"no token", "pc", "", body(key), 401},
		{"wrong token", "pc", "nonsense", body(key), 401},
		{"operator's token", "pc", h.token, body(key), 401},
		{"other machine's", "other", token, body(key), 401},
		{"good", "pc", token, body(key), 200},
		{"again", "pc", token, body(key), 200},
		{"another key", "pc", token, body(machineKey(t)), 409},
		{"token in the body", "second", "", `{"public_key":"` + machineKey(t) + `","token":"` + mint("second") + `"}`, 200},
		{"the header wins", "third", "nonsense", `{"public_key":"` + machineKey(t) + `","token":"` + mint("third") + `"}`, 401},
	} {
		status, answer := h.rest("POST", "/api/agents/"+c.id+"/enroll", c.body, c.token)
		if status != c.want {
			t.Errorf("%s: %d %s; want %v", c.what, status, answer, c.want)
		}
		if status == 200 && answer != `{"agent_id":"`+c.id+`","ok":true}`+"\n" {
			t.Errorf("%s: %s", c.what, answer)
		}
		if status != 200 && !strings.Contains(answer, `"ok":false`) {
			t.Errorf("%s: %s", c.what, answer)
		}
	}
	status := 0
	for range 3 {
		status, _ = h.rest("POST", "/api/agents/pc/enroll", body(key), "guess")
	}
	if status != http.StatusTooManyRequests {
		t.Errorf("guessing goes on: %d", status)
	}
	// A machine's token opens nothing else.
	if status, _ := h.rest("GET", "/api/fleet", "", mint("fourth")); status != 401 {
		t.Errorf("%d; want status to be 401", status)
	}
}

func TestEveryRouteNeedsATokenAndTheRightScope(t *testing.T) {
	h := newHub(t, options{})
	h.join("pc")
	nobody := must(h.people.CreateToken(t.Context(), identity.Local(h.owner), identity.TokenRequest{Name: "t", Scopes: []string{"status:read"}}))(t).Secret
	routes := []string{
		"GET /api/fleet", "GET /api/fleet/trend", "GET /api/fleet/stream", "GET /api/fleet/tools", "GET /api/fleet/events", "GET /api/machines", "POST /api/machines",
		"GET /api/machines/pc", "PATCH /api/machines/pc", "DELETE /api/machines/pc", "POST /api/machines/pc/token", "POST /api/machines/pc/install-link",
		"GET /api/machines/pc/installer.zip", "GET /api/machines/pc/health", "GET /api/machines/pc/snapshot", "GET /api/machines/pc/history?metric=overall",
		"GET /api/machines/pc/events", "GET /api/machines/pc/calls", "POST /api/machines/pc/calls", "POST /api/machines/pc/collect", "POST /api/fleet/calls",
		"GET /api/fleet/calls", "GET /api/fleet/calls/x", "DELETE /api/fleet/calls/x", "GET /api/machines/pc/screenshots", "POST /api/machines/pc/screenshots",
		"GET /api/machines/pc/screenshots/1.png", "DELETE /api/machines/pc/screenshots/1.png", "POST /api/machines/pc/update", "GET /api/fleet/updates",
		"POST /api/fleet/updates", "PATCH /api/fleet/updates/x", "GET /api/fleet/binaries", "POST /api/fleet/binaries", "GET /api/fleet/policy/rules",
		"POST /api/fleet/policy/rules", "DELETE /api/fleet/policy/rules/x", "POST /api/fleet/policy/test",
	}
	for _, r := range routes {
		method, path, _ := strings.Cut(r, " ")
		if status, body := h.rest(method, path, "", ""); status != http.StatusUnauthorized {
			t.Errorf("%s without a token: %d %s", r, status, body)
		}
		body := ""
		if strings.HasSuffix(path, "/calls") && method == "POST" {
			body = `{"tool":"net_config","all":true}`
			if path == "/api/machines/pc/calls" {
				body = `{"tool":"net_config"}`
			}
		}
		if status, answer := h.rest(method, path, body, nobody); status != http.StatusForbidden {
			t.Errorf("%s without the scope: %d %s", r, status, answer)
		}
	}
}

func TestCallsOverRESTHaveTheirStatus(t *testing.T) {
	h := newHub(t, options{})
	var fail *kenny.Error
	m := h.join("pc", answering(func(_ context.Context, r *kenny.Request) (jsontext.Value, error) {
		if fail != nil {
			return nil, fail
		}
		return r.Args, nil
	}))
	post := func(id, body string) (int, string) { return h.rest("POST", "/api/machines/"+id+"/calls", body) }
	status, body := post("pc", `{"tool":"fs_list","args":{"path":"/tmp"}}`)
	if status != 200 || !strings.Contains(body, `"result":{"path":"/tmp"}`) || !strings.Contains(body, `"ok":true`) || !strings.Contains(body, `"call_id":"`) {
		t.Errorf("%d %s; want status to be 200, \"\"result\":{\"path\":\"/tmp\"}\" in it, \"\"ok\":true\" in it, \"\"call_id\":\"\" in it", status, body)
	}
	for _, c := range []struct {
		body string
		want int
		code string
	}{
		{`{"tool":"fs_list","args":{}}`, 400, "bad_args"},
		{`{"tool":"fs_list","args":{"path":"/x"},"extra":1}`, 400, "bad_args"},
		{`{"tool":"nope"}`, 400, "unknown_tool"},
		{`{"tool":"winget_list"}`, 400, "unsupported"},
		{`{"tool":"shell_exec","args":{"script":"rm -rf /"}}`, 409, "blocked"},
		{`junk`, 400, "bad_args"},
	} {
		if status, body := post("pc", c.body); status != c.want || !strings.Contains(body, `"code":"`+c.code+`"`) || !strings.Contains(body, `"ok":false`) {
			t.Errorf("%s: %d %s; want status to be %v, strings.Contains(body, `\"code\":\"`+c.code+`\"`), \"\"ok\":false\" in it", c.body, status, body, c.want)
		}
	}
	for code, want := range map[kenny.Code]int{
		"not_found": 502, "exec_failed": 502, "unsupported": 502, "internal": 502, "custom": 502, "timeout": 504, "disabled": 409, "blocked": 409, "bad_args": 400,
	} {
		fail = &kenny.Error{Code: code, Message: "as the machine says"}
		status, body := post("pc", `{"tool":"net_config"}`)
		if status != want || !strings.Contains(body, fmt.Sprintf(`"error":{"code":%q,"message":"as the machine says"}`, code)) {
			t.Errorf("%s: %d %s", code, status, body)
		}
	}
	if status, body := post("ghost", `{"tool":"net_config"}`); status != 404 {
		t.Errorf("%d %s; want status to be 404", status, body)
	}
	m.stop()
	h.presence("pc", fleet.Off)
	if status, body := post("pc", `{"tool":"net_config"}`); status != 502 || !strings.Contains(body, `"offline"`) {
		t.Errorf("%d %s; want status to be 502, \"\"offline\"\" in it", status, body)
	}
	if len(h.errors.list) != 0 {
		t.Errorf("what a machine fails at is logged as an error of the hub: %q", h.errors.list)
	}
	status, body = post("pc", `{"tool":"net_config","queue_for_s":60}`)
	var queued struct {
		State  string `json:"state"`
		CallID string `json:"call_id"`
	}
	check(t, json.Unmarshal([]byte(body), &queued))
	if status != 202 || queued.State != "queued" {
		t.Errorf("%d %s; want status to be 202, queued.State to be \"queued\"", status, body)
	}
	if status, body := h.rest("DELETE", "/api/fleet/calls/"+queued.CallID, ""); status != 200 || !strings.Contains(body, `"cancelled"`) {
		t.Errorf("%d %s; want status to be 200, \"\"cancelled\"\" in it", status, body)
	}
	if status, body := h.rest("GET", "/api/fleet/calls?format=jsonl", ""); status != 200 || strings.Count(body, "\n") < 5 {
		t.Errorf("%d %s; want status to be 200, strings.Count(body, \"\\n\") to be at least 5", status, body)
	}
}

func TestScreenshotsAre404ThenAPNG(t *testing.T) {
	h := newHub(t, options{})
	var picture bytes.Buffer
	check(t, png.Encode(&picture, image.NewRGBA(image.Rect(0, 0, 2, 2))))
	h.join("pc", answering(func(context.Context, *kenny.Request) (jsontext.Value, error) {
		return jsontext.Value(`{"image_b64":"` + base64.StdEncoding.EncodeToString(picture.Bytes()) + `","format":"png","width":2,"height":2}`), nil
	}))
	for _, path := range []string{"", "/1.png", "/latest.png", "/x.png"} {
		if status, _ := h.rest("GET", "/api/machines/pc/screenshots"+path, ""); status != 404 {
			t.Errorf("%q: %d; want status to be 404", path, status)
		}
	}
	if status, body := h.rest("POST", "/api/machines/pc/screenshots", ""); status != 200 || !strings.Contains(body, `"n":1`) {
		t.Fatalf("%d %s; want status to be 200, \"\"n\":1\" in it", status, body)
	}
	for _, path := range []string{"/1.png", "/latest.png"} {
		if status, body := h.rest("GET", "/api/machines/pc/screenshots"+path, ""); status != 200 || body != picture.String() {
			t.Errorf("%q: %d", path, status)
		}
	}
}

func TestInstallLinksOverHTTP(t *testing.T) {
	own := filepath.Join(t.TempDir(), "parley")
	check(t, os.WriteFile(own, []byte("the program"), 0o755))
	h := newHub(t, options{fleet: func(d *fleet.Deps) { d.Own = update.OwnProgram{Platform: "linux-amd64", Version: "1", Path: own} }})
	h.rest("POST", "/api/machines", `{"agent_id":"pc"}`)
	_, body := h.rest("POST", "/api/machines/pc/install-link", "")
	var lines struct{ Sh, PS1 string }
	check(t, json.Unmarshal([]byte(body), &lines))
	path := strings.TrimPrefix(strings.Split(lines.Sh, "'")[1], h.server.URL)
	for _, p := range []string{"/install/unknown", "/install/unknown.ps1", path + "/bin/linux-amd64", "/d/endpoint/unknown", "/d/endpoint/unknown.sig", strings.Replace(path, "/install/", "/d/endpoint/", 1)} {
		if status, body := h.rest("GET", p, "", ""); status != 404 || !strings.Contains(body, "nothing here") {
			t.Errorf("%s: %d %s; want status to be 404, \"nothing here\" in it", p, status, body)
		}
	}
	if status, _ := h.rest("GET", path+".ps1", "", ""); status != http.StatusServiceUnavailable {
		t.Errorf("no program for Windows: %d", status)
	}
	look := func(method, header, value string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), method, h.server.URL+path, nil)
		check(t, err)
		req.Header.Set(header, value)
		resp, err := h.server.Client().Do(req)
		check(t, err)
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		check(t, err)
		return resp.StatusCode, string(text)
	}
	for _, c := range [][3]string{{"HEAD", "Accept", "*/*"}, {"GET", "Accept", "text/html,*/*"}, {"GET", "User-Agent", "Slackbot-LinkExpanding 1.0"}, {"GET", "Sec-Purpose", "prefetch"}} {
		if status, text := look(c[0], c[1], c[2]); status != 200 || strings.Contains(text, "TOKEN") {
			t.Errorf("somebody who only looks (%v) gets %d %s", c, status, text)
		}
	}
	status, script := h.rest("GET", path, "", "")
	if status != 200 || !strings.HasPrefix(script, "#!/bin/sh") || !strings.Contains(script, h.server.URL) {
		t.Fatalf("%d %s; want status to be 200, strings.HasPrefix(script, \"#!/bin/sh\"), strings.Contains(script, h.server.URL)", status, script)
	}
	if status, program := h.rest("GET", path+"/bin/linux-amd64", "", ""); status != 200 || program != "the program" {
		t.Errorf("%d %s; want status to be 200, program to be \"the program\"", status, program)
	}
	if status, _ := h.rest("GET", path, "", ""); status != 404 {
		t.Errorf("opened twice: %d", status)
	}
	if status, zip := h.rest("GET", "/api/machines/pc/installer.zip", ""); status != 200 || !strings.HasPrefix(zip, "PK") {
		t.Errorf("%d; want status to be 200, strings.HasPrefix(zip, \"PK\")", status)
	}
	none := newHub(t, options{})
	none.rest("POST", "/api/machines", `{"agent_id":"pc"}`)
	if status, _ := none.rest("GET", "/api/machines/pc/installer.zip", ""); status != http.StatusServiceUnavailable {
		t.Errorf("%d; want %v", status, http.StatusServiceUnavailable)
	}
	if status, _ := none.rest("POST", "/api/machines/pc/update", ""); status != http.StatusServiceUnavailable {
		t.Errorf("%d; want %v", status, http.StatusServiceUnavailable)
	}
}

func TestMachinesOverREST(t *testing.T) {
	h := newHub(t, options{})
	if status, body := h.rest("POST", "/api/machines", `{"agent_id":"pc","name":"Studio","tags":["lab"]}`); status != 201 {
		t.Fatalf("%d %s; want status to be 201", status, body)
	}
	if status, _ := h.rest("POST", "/api/machines", `{"agent_id":"PC"}`); status != 409 {
		t.Errorf("%d; want status to be 409", status)
	}
	if status, body := h.rest("PATCH", "/api/machines/pc", `{"name":"Studio 3","tags":["a","b"],"mobile":true,"mutes":{"disk":{"reason":"known","until":"2030-01-01T00:00:00Z"}},"thresholds":{"overdue_s":60}}`); status != 200 ||
		!strings.Contains(body, `"tags":["a","b"]`) || !strings.Contains(body, `"mobile":true`) {
		t.Errorf("%d %s; want status to be 200, \"\"tags\":[\"a\",\"b\"]\" in it, \"\"mobile\":true\" in it", status, body)
	}
	if status, body := h.rest("GET", "/api/machines/pc/snapshot", ""); status != 200 || !strings.Contains(body, `"snapshot":null`) {
		t.Errorf("%d %s; want status to be 200, \"\"snapshot\":null\" in it", status, body)
	}
	for path, want := range map[string]string{
		"/api/machines?tag=a": `"agent_id":"pc"`, "/api/machines?q=nothing": `"machines":[]`, "/api/fleet": `"counts":{`, "/api/fleet/trend?days=2": `"days":[`,
		"/api/fleet/tools": `"name":"powershell_exec"`, "/api/fleet/policy/rules": `"builtin":[`, "/api/fleet/updates": `"updates":[]`, "/api/fleet/binaries": `"binaries":[]`,
		"/api/machines/pc/health": `"overall":"unknown"`, "/api/fleet/events?level=info": `"events":[`,
	} {
		if status, body := h.rest("GET", path, ""); status != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s; want status to be 200, strings.Contains(body, want)", path, status, body)
		}
	}
	for _, path := range []string{"/api/fleet/trend?days=0", "/api/fleet/trend?days=91", "/api/fleet/trend?days=x", "/api/fleet/events?level=loud", "/api/fleet/events?since=yesterday", "/api/machines/pc/history"} {
		if status, _ := h.rest("GET", path, ""); status != 400 {
			t.Errorf("%s: %d; want status to be 400", path, status)
		}
	}
	if status, body := h.rest("POST", "/api/fleet/policy/rules", `{"id":"op.x","applies_to":"powershell","pattern":"(","reason":"r"}`); status != 400 {
		t.Errorf("%d %s; want status to be 400", status, body)
	}
	if status, body := h.rest("POST", "/api/fleet/policy/rules", `{"id":"op.x","applies_to":"powershell","pattern":"choco","reason":"r"}`); status != 200 || !strings.Contains(body, `"revision":1`) {
		t.Errorf("%d %s; want status to be 200, \"\"revision\":1\" in it", status, body)
	}
	if status, body := h.rest("POST", "/api/fleet/policy/test", `{"os":"linux","tool":"shell_exec","args":{"script":"choco"}}`); status != 200 || !strings.Contains(body, `"blocked":true`) {
		t.Errorf("%d %s; want status to be 200, \"\"blocked\":true\" in it", status, body)
	}
	for _, want := range []string{"true", "false"} {
		if status, body := h.rest("DELETE", "/api/fleet/policy/rules/op.x", ""); status != 200 || !strings.Contains(body, `"removed":`+want) {
			t.Errorf("%d %s; want status to be 200, strings.Contains(body, `\"removed\":`+want)", status, body)
		}
	}
	if status, _ := h.rest("DELETE", "/api/machines/pc", ""); status != 200 {
		t.Errorf("%d; want status to be 200", status)
	}
	if status, _ := h.rest("GET", "/api/machines/pc", ""); status != 404 {
		t.Errorf("%d; want status to be 404", status)
	}
}

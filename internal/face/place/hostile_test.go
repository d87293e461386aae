package place_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	faceplace "parley.internal/internal/face/place"
	"parley.internal/internal/place"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/meeting"
)

// writes are all routes that take a body and store something.
var writes = []struct{ method, path string }{
	{"POST", "/place/v1/challenge"},
	{"POST", "/place/v1/register"},
	{"POST", "/place/v1/heartbeat"},
	{"POST", "/place/v1/unregister"},
	{"POST", "/place/v1/board/post"},
	{"POST", "/place/v1/board/remove"},
	{"POST", "/place/v1/board/needs"},
	{"DELETE", "/place/v1/board/needs"},
	{"POST", "/place/v1/board/attest"},
	{"POST", "/place/v1/deposit"},
	{"PUT", "/place/v1/deposit/x"},
	{"DELETE", "/place/v1/deposit/x"},
	{"POST", "/place/v1/keys/register"},
	{"POST", "/place/v1/relay/send"},
	{"POST", "/place/v1/relay/ack"},
	{"POST", "/meeting/v1/introduce"},
	{"POST", "/meeting/v1/message"},
	{"POST", "/meeting/v1/session/start"},
}

// nothingStored fails unless the place is as empty as before.
func (w *world) nothingStored() {
	w.t.Helper()
	info := w.want(w.get("/place/v1/info", ""), 200, "")
	if info.num("agents_count")+info.num("postings_count")+info.num("pending_messages") != 0 {
		w.t.Errorf("something was stored: %s", info.raw)
	}
	for name, n := range w.actions() {
		if !strings.HasPrefix(name, "auth ") {
			w.t.Errorf("%d× %s in the audit", n, name)
		}
	}
}

func TestMalformedBodiesAreRefusedEverywhereAndNothingIsStored(t *testing.T) {
	w := newWorld(t)
	bodies := map[string]string{
		"not JSON": `{`, "a list": `[]`, "a text": `"x"`, "a number": `1`, "two values": `{}{}`, "a name twice": `{"id":"a","id":"b"}`,
		"deep": strings.Repeat(`{"a":`, 100) + `1` + strings.Repeat(`}`, 100), "deep lists": `{"a":` + strings.Repeat(`[`, 100_000) + `}`,
		"a huge number": `{"ttl_hours":` + strings.Repeat("9", 1000) + `}`, "a huge exponent": `{"ttl_hours":1e99999999}`,
		"bad UTF-8": "{\"name\":\"\xff\xfe\"}", "a lone surrogate": `{"name":"\ud800"}`, "NUL bytes": "\x00\x00", "binary": "\x1f\x8b\x08\x00",
		"XML": `<?xml version="1.0"?><a/>`, "a form": `id=ada&name=x`,
	}
	for _, route := range writes {
		for name, body := range bodies {
			r := w.do(route.method, route.path, "", body)
			if r.status < 400 || r.status > 499 || r.str("error") == "" || r.code() == "" {
				t.Errorf("%s %s with %s: %d %s", route.method, route.path, name, r.status, clip(r.raw))
			}
		}
	}
	w.nothingStored()
}

func TestMembersOfTheWrongTypeOrTooLongAreNamed(t *testing.T) {
	w := newWorld(t)
	long := strings.Repeat("x", 300<<10/2)
	for path, bodies := range map[string][]string{
		"/place/v1/register": {
			`{"id":1}`, `{"name":["x"]}`, `{"capabilities":"x"}`, `{"capabilities":1}`, `{"metadata":[]}`, `{"scope":{}}`, `{"public_key":1}`, `{"identity":"x"}`,
			`{"proof":"x"}`, `{"proof":{"nonce":1}}`, `{"name":"` + long + `"}`, `{"description":"` + long + `"}`, `{"metadata":{"x":"` + long + `"}}`,
			`{"endpoint":true}`, `{"name":"\u0000"}`,
		},
		"/place/v1/board/post": {
			`{"agent_id":"a","type":"announcement","tags":"x"}`, `{"agent_id":"a","type":"announcement","tags":[1]}`, `{"agent_id":"a","type":1}`,
			`{"agent_id":"a","type":"announcement","ttl_hours":"1"}`, `{"agent_id":"a","type":"announcement","ttl_hours":0}`,
			`{"agent_id":"a","type":"announcement","metadata":1}`, `{"agent_id":"a","type":"announcement","tags":[` + strings.Repeat(`"x",`, 20) + `"x"]}`,
			`{"agent_id":"a","type":"announcement","skill_name":"` + long + `"}`,
		},
		"/place/v1/relay/send": {
			`{"from":1,"to":"b","encrypted_blob":"x","blob_hash":"y"}`, `{"from":"a","to":["b"],"encrypted_blob":"x","blob_hash":"y"}`,
			`{"from":"a","to":"b","encrypted_blob":{},"blob_hash":"y"}`, `{"from":"a","to":"b","encrypted_blob":"x","blob_hash":1}`,
			`{"from":"a","to":"b","encrypted_blob":"x","blob_hash":"y","message_type":"` + strings.Repeat("x", 65) + `"}`,
		},
		"/place/v1/relay/ack":   {`{"agent_id":"a","ids":"x"}`, `{"agent_id":"a","ids":[1]}`, `{"agent_id":"a","release":{}}`},
		"/place/v1/board/needs": {`{"agent_id":"a","needs":"x"}`, `{"agent_id":"a","needs":["x"]}`, `{"agent_id":"a","needs":[` + strings.Repeat(`{},`, 20) + `{}]}`},
	} {
		for _, body := range bodies {
			if r := w.post(path, "", body); r.status != 400 || r.code() != "invalid_field" {
				t.Errorf("%s %s: %d %s; want r.status to be 400, r.code() to be \"invalid_field\"", path, clip([]byte(body)), r.status, clip(r.raw))
			}
		}
	}
	w.nothingStored()
}

func TestIdsThatCouldBePathsQueriesOrMarkupAreRefused(t *testing.T) {
	w := newWorld(t)
	for _, id := range []string{
		"../../etc/passwd", "a/b", `a\b`, "a b", "a\nb", "a?b", "a#b", "<script>", "a@b", "a%2fb", "ü", strings.Repeat("a", 129), "a\x00b", "a;b", "'--",
	} {
		for _, c := range []struct {
			path string
			body m
		}{
			{"/place/v1/register", m{"id": id}},
			{"/place/v1/register", m{"agent_id": id}},
			{"/place/v1/register", m{"instance_id": id}},
			{"/place/v1/heartbeat", m{"agent_id": id}},
			{"/place/v1/board/post", m{"agent_id": id, "type": "announcement"}},
			{"/place/v1/keys/register", m{"agent_id": id, "public_key": keyNo(0).Public().PEM()}},
			{"/place/v1/relay/send", envelope(id, "b", "x")},
			{"/place/v1/challenge", m{"agent_id": id}},
		} {
			if r := w.post(c.path, "", c.body); r.status != 400 || r.code() != "invalid_id" {
				t.Errorf("%q at %s: %d %s", id, c.path, r.status, clip(r.raw))
			}
		}
		if id == "a@b" {
			continue
		}
		if r := w.post("/place/v1/relay/send", "", envelope("a", id, "x")); r.status != 400 {
			t.Errorf("to %q: %d %s", id, r.status, clip(r.raw))
		}
		escaped := url.PathEscape(id)
		for _, path := range []string{"/place/v1/agents/", "/place/v1/keys/", "/place/v1/board/posting/", "/place/v1/preview/", "/place/v1/agent_profile/", "/place/v1/skill_content/"} {
			if r := w.get(path+escaped, ""); r.status != 404 {
				t.Errorf("%s%s: %d %s; want r.status to be 404", path, escaped, r.status, clip(r.raw))
			}
		}
		if r := w.get("/place/v1/relay/receive?agent_id="+url.QueryEscape(id), ""); r.status != 400 {
			t.Errorf("receive as %q: %d", id, r.status)
		}
	}
	w.nothingStored()
}

func TestATokenThatIsSentIsAlwaysChecked(t *testing.T) {
	w := newWorld(t, policy(place.Open))
	for _, path := range []string{"/place/v1/info", "/health", "/place/v1/agents", "/meeting/v1/introduce", "/place/v1/audit"} {
		for _, token := range []string{"x", strings.Repeat("a", 64), strings.Repeat("A", 64), "prl_" + strings.Repeat("a", 43), strings.Repeat("a", 10_000)} {
			w.want(w.get(path, token), 401, "invalid_or_expired_token")
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/place/v1/info", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Basic YTpi")
	res, err := w.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusUnauthorized {
		t.Errorf("another scheme: %d", res.StatusCode)
	}
}

func TestRawRequestsThatBreakHTTPTouchNobodyElse(t *testing.T) {
	w := newWorld(t)
	host := strings.TrimPrefix(w.url, "http://")
	for name, raw := range map[string]string{
		"garbage":             "\x16\x03\x01\x00garbage\r\n\r\n",
		"a lying length":      "POST /place/v1/register HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{}",
		"bad chunks":          "POST /place/v1/register HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
		"traversal":           "GET /place/v1/agents/../../../etc/passwd HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
		"an absolute target":  "GET http://evil.example/place/v1/info HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
		"a smuggled request":  "POST /place/v1/register HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n",
		"headers without end": "GET /place/v1/info HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("X: y\r\n", 10),
	} {
		t.Run(name, func(t *testing.T) {
			var d net.Dialer
			conn, err := d.DialContext(t.Context(), "tcp", host)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.WriteString(conn, raw)
			if c, ok := conn.(*net.TCPConn); ok {
				_ = c.CloseWrite()
			}
			answer, _ := bufio.NewReader(conn).ReadString('\n')
			_ = conn.Close()
			if strings.Contains(answer, " 500 ") {
				t.Errorf("answered %q", answer)
			}
			w.want(w.get("/place/v1/info", ""), 200, "")
		})
	}
	if r := w.want(w.get("/place/v1/agents", ""), 200, ""); r.num("count") > 1 {
		t.Errorf("%s; want r.num(\"count\") to be at most 1", r.raw)
	}
}

func TestAFloodOfRegistrationsLeavesOthersAlone(t *testing.T) {
	w := newWorld(t, func(c *place.Config, _ *place.Deps, _ *faceplace.Deps) { c.MaxAgents = 50 })
	ada := w.prove(keyNo(0), "ada")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				if r, err := w.try(context.WithoutCancel(t.Context()), "POST", "/place/v1/register", "", m{}); err != nil || r.status != 200 && r.code() != "place_full" {
					t.Errorf("%d %s %v", r.status, r.raw, err)
				}
			}
		})
	}
	wg.Wait()
	w.send("ada", "bob", "still served", ada)
	if got := blobs(w.receive("bob", "", "")); len(got) != 1 {
		t.Errorf("%v; want len(got) to be 1", got)
	}
}

func TestAPanicIsAnInternalErrorWithoutDetail(t *testing.T) {
	w := newWorld(t, func(_ *place.Config, _ *place.Deps, fd *faceplace.Deps) { fd.Meeting = explosive{&place.Core{}} })
	r := w.want(w.get("/meeting/v1/introduce", ""), 500, "internal_error")
	if strings.Contains(string(r.raw), "boom") {
		t.Errorf("%s; want not \"boom\" in it", r.raw)
	}
	w.want(w.get("/place/v1/info", ""), 200, "")
}

type explosive struct{ *place.Core }

func (explosive) Introduction(context.Context, string) (meeting.Introduction, meeting.Message, error) {
	panic("boom")
}

// FuzzRequests: whatever is sent to whatever route, the place answers in its own
// words and lives.
func FuzzRequests(f *testing.F) {
	f.Add("POST", "/place/v1/register", `{"id":"ada"}`)
	f.Add("POST", "/place/v1/relay/send", `{"from":"a","to":"b","encrypted_blob":"x","blob_hash":"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"}`)
	f.Add("GET", "/place/v1/relay/receive?agent_id=b&limit=1", ``)
	f.Add("GET", "/place/v1/agents/%2e%2e%2f", ``)
	f.Add("DELETE", "/place/v1/deposit/x", `{"reason":"y"}`)
	f.Add("POST", "/meeting/v1/message", `{"id":"1","action":"introduce","from":"a","timestamp":"x","payload":{}}`)
	f.Add("POST", "/meeting/v1/introduce", `{"identity":{"instance_id":"x"}}`)
	f.Add("POST", "/meeting/v1/reflect", `{"from":"x","reflection":"y"}`)
	f.Add("GET", "/place/v1/audit?since=2026-01-01&type=relay", ``)
	w := newFuzzWorld(f)
	f.Fuzz(func(t *testing.T, method, path, body string) {
		req, err := http.NewRequestWithContext(t.Context(), method, "http://127.0.0.1/", strings.NewReader(body))
		if err != nil {
			return
		}
		u, err := url.ParseRequestURI(path)
		if err != nil || strings.Contains(path, "wait=") {
			return
		}
		req.URL = u
		res, err := w.face.Transport().RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode >= 500 && res.StatusCode != 503 {
			t.Errorf("%s %s %q: %d %s", method, path, body, res.StatusCode, answer)
		}
		var any mmp.Raw
		if mmp.Decode(answer, &any) != nil {
			t.Errorf("%s %s: not JSON: %s", method, path, answer)
		}
	})
}

func TestThePythonClientOfTheProtocolTextWorks(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not on this machine")
	}
	w := newWorld(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, python, "testdata/client.py", w.url).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "all well") {
		t.Fatalf("%v\n%s", err, out)
	}
}

// The same client in Go, written from the protocol's text alone.
func TestAClientWrittenFromTheProtocolTextWorks(t *testing.T) {
	w := newWorld(t)
	me := w.want(w.post("/place/v1/register", "", m{"name": "Go MMP Client", "instance_id": "gopher", "capabilities": []string{"introduce"}}), 200, "").str("agent_id")
	introduce := m{
		"id": "msg_0123456789abcdef", "action": "introduce", "from": me, "timestamp": time.Now().UTC().Format("2006-01-02T15:04:05.999999") + "Z",
		"protocol_version": "1.0.0",
		"payload":          m{"identity": m{"name": "Go Agent", "instance_id": "gopher"}, "capabilities": []string{"introduce"}, "extensions": []string{}},
	}
	r := w.want(w.post("/meeting/v1/message", "", introduce), 200, "")
	if r.str("status") != "received" || r.str("action") != "introduce" || r.str("from") != me {
		t.Errorf("%s; want r.str(\"status\") to be \"received\", r.str(\"action\") to be \"introduce\", r.str(\"from\") to be %v", r.raw, me)
	}
	for _, path := range []string{"/heartbeat", "/unregister"} {
		w.want(w.post("/place/v1"+path, "", m{"agent_id": me}), 200, "")
	}
}

package hub_test

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"parley.internal/internal/hub/config"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestEveryRouteAndWhatItLetsCallersDo shows every route of a hub with its
// declaration, so that a new one, or a wider one, is seen in review. Run with
// -update to write the file.
func TestEveryRouteAndWhatItLetsCallersDo(t *testing.T) {
	var text strings.Builder
	for _, rt := range newRig(t).Routes() {
		text.WriteString(rt.String() + "\n")
	}
	const golden = "testdata/routes.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(text.String(), "\n")); diff != "" {
		t.Errorf("routes or what they let callers do changed; if that is meant: go test ./internal/hub -run EveryRoute -update\n%s", diff)
	}
}

// patience is far above every limit of these tests: only what is never cut gets there.
const patience = 2 * time.Minute

// hurried is a hub whose callers must hurry.
func hurried(c *config.Config) {
	c.Limits = config.Limits{BodyTime: 300 * time.Millisecond, BodyPause: 200 * time.Millisecond}
}

// raw sends a request to the letter.
func (r *rig) raw(t *testing.T, request string) (*http.Response, string) {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

// dribble sends a request whose body comes byte by byte and never ends, and gives
// the answer.
func (r *rig) dribble(t *testing.T, head string) (*http.Response, string) {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := io.WriteString(c, head+"Content-Type: application/json\r\nContent-Length: 3000\r\n\r\n{"); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for tick := time.NewTicker(20 * time.Millisecond); ; {
			select {
			case <-tick.C:
				if _, err := c.Write([]byte(" ")); err != nil {
					return
				}
			case <-stop:
				return
			}
		}
	}()
	defer func() { close(stop); <-done }()
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("the slow request is held open: %v", err)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("the answer is cut: %v", err)
	}
	return res, string(body)
}

func TestSlowBodiesAreCutOnEveryRoute(t *testing.T) {
	r := newRig(t, hurried)
	bearer := "Authorization: Bearer " + r.owner + "\r\n"
	for _, c := range []struct {
		line, header, code string
		status             int
	}{
		{"POST /place/v1/register", "", "request_timeout", 408},
		{"POST /place/v1/relay/send", "", "request_timeout", 408},
		{"POST /place/v1/board/post", "", "request_timeout", 408},
		{"POST /meeting/v1/message", "", "request_timeout", 408},
		{"POST /meeting/v1/introduce", "", "request_timeout", 408},
		{"POST /api/agents/pc/enroll", "", "timeout", 408},
		{"POST /api/session", "", "timeout", 408},
		{"POST /api/tokens", bearer, "timeout", 408},
		{"POST /api/conversations/import", bearer, "timeout", 408},
		{"POST /api/tokens", "", "unauthorized", 401},
		{"POST /mcp", bearer, "timeout", 408},
		{"POST /mcp", "", "unauthorized", 401},
		{"POST /mcp/place", bearer, "timeout", 408},
		{"POST /place/v1/nowhere", "", "not_found", 404},
		{"POST /api/nowhere", "", "not_found", 404},
		{"GET /healthz", "", "", 200},
		{"GET /place/v1/info", "", "", 200},
		{"GET /talk/ws", "", "", 0},
		{"POST /api/tokens", "Origin: http://evil.example\r\n", "foreign_origin", 403},
	} {
		t.Run(c.line, func(t *testing.T) {
			t.Parallel()
			res, body := r.dribble(t, c.line+" HTTP/1.1\r\nHost: "+strings.TrimPrefix(r.url, "http://")+"\r\n"+c.header)
			if c.status != 0 && res.StatusCode != c.status || !strings.Contains(body, c.code) {
				t.Errorf("%d %s, want %d %s", res.StatusCode, body, c.status, c.code)
			}
			if !res.Close && c.status != 0 {
				t.Error("the connection may go on, although its request never ended")
			}
		})
	}
}

// behindProxy is a hub whose callers come from anywhere.
func behindProxy(c *config.Config) { c.BehindProxy = []string{"127.0.0.0/8"} }

func from(address string) map[string]string {
	return map[string]string{"X-Forwarded-For": address, "X-Forwarded-Proto": "https"}
}

// knock opens a WebSocket from an address; its status is 101 if it is let in.
func (r *rig) knock(t *testing.T, path, address, token string) (*websocket.Conn, *http.Response) {
	t.Helper()
	header := http.Header{}
	for name, value := range from(address) {
		header.Set(name, value)
	}
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	c, res, err := websocket.Dial(t.Context(), strings.Replace(r.url, "http", "ws", 1)+path, &websocket.DialOptions{HTTPHeader: header, HTTPClient: &http.Client{Transport: transport}})
	if err != nil && res == nil {
		t.Fatal(err)
	}
	if c != nil {
		t.Cleanup(func() { _ = c.CloseNow() })
	}
	return c, res
}

func TestSocketsThatNeverSayWhoTheyAreAreFewPerAddress(t *testing.T) {
	r := newRig(t, behindProxy)
	made := r.do(ask{method: "POST", path: "/api/rooms", token: r.owner, body: `{"room":"lobby"}`, header: from("192.0.2.1")})
	if made.status != http.StatusCreated {
		t.Fatalf("no room: %d %s", made.status, made.body)
	}
	most := map[string]int{}
	for _, rt := range r.Routes() {
		most[rt.Pattern] = rt.Strangers.PerNetwork
	}
	for pattern, path := range map[string]string{
		"GET /talk/ws": "/talk/ws", "GET /ws": "/ws", "GET /agent/ws": "/agent/ws", "GET /rooms/{room}/ws": "/rooms/lobby/ws",
	} {
		t.Run(path, func(t *testing.T) {
			cap := most[pattern]
			if cap == 0 || cap > 100 {
				t.Fatalf("an address may hold %d sockets that say nothing", cap)
			}
			// Addresses of one /64 are one: whoever has it has them all.
			for i := range cap {
				if _, res := r.knock(t, path, fmt.Sprintf("2001:db8::%x", i+1), ""); res.StatusCode != http.StatusSwitchingProtocols {
					t.Fatalf("stranger %d of %d is refused: %s", i+1, cap, res.Status)
				}
			}
			for i := range 200 {
				_, res := r.knock(t, path, fmt.Sprintf("2001:db8::1:%x", i), "")
				if res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") == "" {
					t.Fatalf("one too many gets %s, Retry-After %q", res.Status, res.Header.Get("Retry-After"))
				}
			}
			if _, res := r.knock(t, path, "2001:db8:0:1::1", ""); res.StatusCode != http.StatusSwitchingProtocols {
				t.Errorf("somebody elsewhere is refused: %s", res.Status)
			}
			if pattern == "GET /agent/ws" {
				return // machines have keys, and no tokens
			}
			if _, res := r.knock(t, path, "2001:db8::1", r.owner); res.StatusCode != http.StatusSwitchingProtocols {
				t.Errorf("somebody with a token, at the crowded address, is refused: %s", res.Status)
			}
		})
	}
}

func TestAStrangerThatLeavesMakesRoom(t *testing.T) {
	r := newRig(t, behindProxy)
	var all []*websocket.Conn
	for {
		c, res := r.knock(t, "/talk/ws", "192.0.2.9", "")
		if res.StatusCode != http.StatusSwitchingProtocols {
			break
		}
		all = append(all, c)
	}
	_ = all[0].CloseNow()
	for deadline := time.Now().Add(patience); ; {
		_, res := r.knock(t, "/talk/ws", "192.0.2.9", "")
		if res.StatusCode == http.StatusSwitchingProtocols {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("nobody may take the place of one that left: %s", res.Status)
		}
	}
}

func TestLocalProgramsAreNotKeptOutByStrangersElsewhere(t *testing.T) {
	r := newRig(t)
	for i := range 100 {
		c, res, err := websocket.Dial(t.Context(), strings.Replace(r.url, "http", "ws", 1)+"/talk/ws", nil)
		if err != nil {
			t.Fatalf("local program %d is refused: %v %v", i+1, res, err)
		}
		defer func() { _ = c.CloseNow() }()
	}
}

func (r *rig) login(address, token string) answer {
	return r.do(ask{method: "POST", path: "/api/session", body: fmt.Sprintf(`{"token":%q}`, token), header: from(address)})
}

func TestAHundredLoginsAMinuteLockNobodyOutAndFiveGuessesDo(t *testing.T) {
	r := newRig(t, behindProxy)
	for i := range 100 {
		if got := r.login("2001:db8::7", r.owner); got.status != http.StatusOK {
			t.Fatalf("login %d of an office with one address: %d %s", i+1, got.status, got.body)
		}
	}
	wrong := "prl_" + strings.Repeat("x", 43)
	for i := range 5 {
		if got := r.login(fmt.Sprintf("2001:db8::%x", i), wrong); got.status != http.StatusUnauthorized {
			t.Fatalf("guess %d: %d %s", i+1, got.status, got.body)
		}
	}
	got := r.login("2001:db8::ffff", r.owner)
	if got.status != http.StatusTooManyRequests || got.code(t) != "rate_limited" || got.header.Get("Retry-After") == "" {
		t.Errorf("after five guesses from its /64: %d %v %s, want 429 and the time to wait", got.status, got.header, got.body)
	}
	if got := r.login("2001:db8:0:1::7", r.owner); got.status != http.StatusOK {
		t.Errorf("somebody elsewhere: %d %s", got.status, got.body)
	}
	if got := r.do(ask{method: "GET", path: "/api/session", token: r.owner, header: from("2001:db8::7")}); got.status != http.StatusOK {
		t.Errorf("a good token at the guesser's address: %d %s", got.status, got.body)
	}
}

func TestAStrangersRequestsAreCountedByTheNetwork(t *testing.T) {
	r := newRig(t, behindProxy)
	last := answer{}
	for i := range 61 {
		last = r.do(ask{method: "POST", path: "/api/session/passkey", header: from(fmt.Sprintf("2001:db8::%x", i))})
	}
	if last.status != http.StatusTooManyRequests || last.header.Get("Retry-After") == "" {
		t.Errorf("the sixty-first of a minute from one /64: %d %s", last.status, last.body)
	}
	if got := r.do(ask{method: "POST", path: "/api/session/passkey", header: from("2001:db8:0:1::1")}); got.status != http.StatusOK {
		t.Errorf("somebody elsewhere: %d %s", got.status, got.body)
	}
}

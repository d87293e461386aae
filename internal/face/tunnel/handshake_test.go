package tunnel_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"parley.internal/internal/face/tunnel"
	"parley.internal/internal/fleet"
	"parley.internal/internal/fleet/fault"
	"parley.internal/protocol/kenny"
)

func TestFullHandshakeThenAForwardedCallReturns(t *testing.T) {
	h := newHub(t, options{})
	m := h.join("studio-3")
	if n := receive(t, m.policy, "policy"); n != 0 {
		t.Errorf("%d rules in the first policy", n)
	}
	done, err := h.call("studio-3", "fs_disk_usage", "")
	if err != nil || string(done.Result) != `{"tool":"fs_disk_usage"}` || done.CallID == "" {
		t.Errorf("%+v %v", done, err)
	}
	v := h.machine("studio-3")
	if !v.Online || v.Presence != fleet.Online || v.Hostname != "STUDIO-3" || v.Meta.Arch != "amd64" || !v.Enrolled {
		t.Errorf("%+v", v)
	}
}

func TestPolicyComesBeforeAnyRequest(t *testing.T) {
	h := newHub(t, options{})
	key := h.enrol("pc")
	must(h.fleet.AddRule(t.Context(), h.op(), kenny.Rule{ID: "no-choco", AppliesTo: kenny.AppliesPowerShell, Pattern: "choco", Reason: "no"}))(t)
	for range 5 {
		failed := make(chan error, 1)
		r := h.dial()
		go func() {
			for {
				if _, err := h.call("pc", "net_config", ""); fault.CodeOf(err) != fault.Offline || err == nil {
					failed <- err
					return
				}
			}
		}()
		r.shake("pc", key) // fails unless policy is first
		req, ok := r.hear().(*kenny.Request)
		if !ok || req.Tool != "net_config" || string(req.Args) != "{}" {
			t.Fatalf("%+v", req)
		}
		r.say(&kenny.Response{ID: req.ID, OK: true})
		check(t, receive(t, failed, "answer"))
		_ = r.ws.CloseNow()
		until(t, "gone", func() bool { return !h.machine("pc").Online })
	}
}

func TestWrongProofsAreRefusedAndNothingIsForwarded(t *testing.T) {
	h := newHub(t, options{})
	key := h.enrol("pc")
	_, other, _ := ed25519.GenerateKey(rand.Reader)
	sign := func(k ed25519.PrivateKey, id string, nonce, server []byte) string {
		tr := must(kenny.Transcript(id, nonce, server))(t)
		return `{"type":"auth","agent_sig":"` + base64.StdEncoding.EncodeToString(ed25519.Sign(k, tr)) + `"}`
	}
	for name, c := range map[string]struct {
		id   string
		auth func(nonce, server []byte) string
	}{
		"another key":      {"pc", func(n, s []byte) string { return sign(other, "pc", n, s) }},
		"empty":            {"pc", func(_, _ []byte) string { return `{"type":"auth","agent_sig":""}` }},
		"no base64":        {"pc", func(_, _ []byte) string { return `{"type":"auth","agent_sig":"***"}` }},
		"missing":          {"pc", func(_, _ []byte) string { return `{"type":"auth"}` }},
		"another frame":    {"pc", func(_, _ []byte) string { return `{"type":"ping"}` }},
		"junk":             {"pc", func(_, _ []byte) string { return `junk` }},
		"for another id":   {"pc", func(n, s []byte) string { return sign(key, "other", n, s) }},
		"another nonce":    {"pc", func(n, _ []byte) string { return sign(key, "pc", n, newNonce()) }},
		"unknown id":       {"nobody", func(n, s []byte) string { return sign(key, "nobody", n, s) }},
		"case differs":     {"PC", func(n, s []byte) string { return sign(key, "PC", n, s) }},
		"hub's own answer": {"pc", nil},
	} {
		r := h.dial()
		nonce := newNonce()
		r.say(register(c.id, nonce))
		ch, ok := r.hear().(*kenny.Challenge)
		if !ok {
			t.Fatalf("%s: no challenge", name)
		}
		tr := must(kenny.Transcript(c.id, nonce, ch.ServerNonce))(t)
		check(t, kenny.Verify(tr, ch.ServerSig, h.key.Public().(ed25519.PublicKey)))
		if c.auth == nil {
			r.say(&kenny.Auth{AgentSig: ch.ServerSig}) // reflect the hub's own signature
		} else {
			r.send(c.auth(nonce, ch.ServerNonce))
		}
		if code := r.closed(); code != kenny.CloseUnauthorized {
			t.Errorf("%s: closed %d", name, code)
		}
		if h.machine("pc").Online {
			t.Errorf("%s: online", name)
		}
	}
}

func TestFirstMessageIsARegister(t *testing.T) {
	h := newHub(t, options{})
	for text, want := range map[string]kenny.CloseCode{
		`{"type":"ping"}`:     4400,
		`junk`:                4400,
		`[]`:                  4400,
		`{"no":"type"}`:       4400,
		`{"type":"later"}`:    4400,
		`{"type":"Register"}`: 4400,
		`{"type":"register"}`: 4401,
		`{"type":"register","agent_id":"bad id","meta":{"hostname":"h","os":"linux","version":"1"}}`:                                        4401,
		`{"type":"register","agent_id":"x","meta":{"hostname":"h","os":"plan9","version":"1"}}`:                                             4401,
		`{"type":"register","agent_id":"x","protocol":"0.8","client_nonce":"AAAA","meta":{"hostname":"h","os":"linux","version":"1"}}`:      4401,
		`{"type":"register","agent_id":"x","protocol":"0.8","client_nonce":"no base64","meta":{"hostname":"h","os":"linux","version":"1"}}`: 4401,
		`{"type":"register","agent_id":"x","Protocol":"0.8","meta":{"hostname":"h","os":"linux","version":"1"}}`:                            4401,
		`{"type":"register","agent_id":"x","token":"t","meta":{"hostname":"h","os":"linux","version":"1"}}`:                                 4401,
		`{"type":"register","agent_id":"x","extra":1,"meta":{"hostname":"h","os":"linux","version":"1"}}`:                                   4401,
		`{"type":"register","agent_id":"x","meta":{"hostname":"h","os":"linux","version":"1"},"pad":"` + strings.Repeat("x", 17<<10) + `"}`: 4401,
		`{"type":"telemetry","agent_id":"x","collected_at":"2026-01-01T00:00:00Z","snapshot":{"disk":{"status":"ok","summary":"s"}}}`:       4400,
		`{"type":"response","id":"1","ok":true}`: 4400,
	} {
		r := h.dial()
		r.send(text)
		if code := r.closed(); code != want {
			t.Errorf("%.60s: closed %d, want %d", text, code, want)
		}
	}
	r := h.dial()
	check(t, r.ws.Write(t.Context(), websocket.MessageBinary, []byte(`{"type":"register"}`)))
	if code := r.closed(); code != 4400 {
		t.Errorf("binary: %d", code)
	}
}

func TestUnknownIDsAreChallengedAndNoncesNeverRepeat(t *testing.T) {
	h := newHub(t, options{})
	seen := map[string]bool{}
	nonce := newNonce()
	for i := range 50 {
		r := h.dial()
		r.say(register(fmt.Sprintf("nobody-%d", i%3), nonce))
		c, ok := r.hear().(*kenny.Challenge)
		if !ok || seen[string(c.ServerNonce)] || bytes.Equal(c.ServerNonce, nonce) {
			t.Fatalf("%+v", c)
		}
		seen[string(c.ServerNonce)] = true
		_ = r.ws.CloseNow()
	}
}

func TestLateRegisterAndLateAuthAreRefused(t *testing.T) {
	h := newHub(t, options{tunnel: tunnel.Limits{Handshake: 200 * time.Millisecond}})
	if code := h.dial().closed(); code != kenny.CloseUnauthorized {
		t.Errorf("no register: %d", code)
	}
	// The register has to be in time, however busy the machine is.
	r := newHub(t, options{tunnel: tunnel.Limits{Handshake: 4 * time.Second}}).dial()
	r.say(register("pc", newNonce()))
	r.hear()
	if code := r.closed(); code != kenny.CloseUnauthorized {
		t.Errorf("no auth: %d", code)
	}
}

func TestAnAddressHasOnlySoManyStrangers(t *testing.T) {
	h := newHub(t, options{tunnel: tunnel.Limits{PerAddress: 3}})
	key := h.enrol("pc")
	first := h.dial()
	h.dial()
	h.dial()
	if status, retry := h.tryDial(); status != http.StatusTooManyRequests || retry == "" {
		t.Errorf("a fourth stranger: %d, Retry-After %q", status, retry)
	}
	first.shake("pc", key) // a machine that proved itself is no stranger
	until(t, "room for one more", func() bool { status, _ := h.tryDial(); return status == http.StatusSwitchingProtocols })
}

func TestFailedHandshakesLockAnAddress(t *testing.T) {
	h := newHub(t, options{tunnel: tunnel.Limits{Failures: 5}})
	for range 5 {
		if status, _ := h.tryDial(); status != http.StatusSwitchingProtocols {
			t.Fatalf("locked early: %d", status)
		}
		r := h.dial()
		r.send("junk")
		r.closed()
	}
	if status, retry := h.tryDial(); status != http.StatusTooManyRequests || retry == "" {
		t.Errorf("%d %q", status, retry)
	}
}

// tryDial gives the status of an upgrade that is refused; 101 when it is not.
func (h *hub) tryDial() (status int, retry string) {
	ws, resp, err := websocket.Dial(h.t.Context(), strings.Replace(h.server.URL, "http", "ws", 1)+"/agent/ws", nil)
	if err == nil {
		_ = ws.CloseNow()
		return http.StatusSwitchingProtocols, ""
	}
	if resp == nil {
		h.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Get("Retry-After")
}

func TestTheWholeHubTakesOnlySoManyStrangers(t *testing.T) {
	h := newHub(t, options{tunnel: tunnel.Limits{Total: 2}})
	h.dial()
	h.dial()
	if status, retry := h.tryDial(); status != http.StatusServiceUnavailable || retry == "" {
		t.Errorf("%d %q", status, retry)
	}
}

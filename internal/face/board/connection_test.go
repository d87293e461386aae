package board_test

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"parley.internal/internal/face/board"
	"parley.internal/internal/identity"
)

func TestTheWelcomeIsFirstAndSaysWhatTheHubCan(t *testing.T) {
	h := newHub(t)
	a, b := h.dial(), h.dial()
	w := a.welcome
	if w.text("protocol_version") != "1" || w.text("daemon_version") != "test" || w.ReplyTo != "" {
		t.Errorf("%s; want w.text(\"protocol_version\") to be \"1\", w.text(\"daemon_version\") to be \"test\", w.ReplyTo to be \"\"", w)
	}
	want := []any{"streaming", "terminal", "approval", "resume", "injection", "task_list", "approval_resolved", "terminal_create", "refresh", "takeover"}
	if d := cmp.Diff(want, w.get("capabilities")); d != "" {
		t.Errorf("d is %v; want no difference", d)
	}
	for name, want := range map[string]int64{
		"max_frame_unauthenticated": 64 << 10, "max_frame": 4 << 20, "max_connections": 64, "messages_per_second": 60,
		"submits_per_minute": 120, "max_running_tasks": 32, "max_queued_messages": 20, "max_terminals": 16,
	} {
		if got := w.number("limits." + name); got != want {
			t.Errorf("%s is %d", name, got)
		}
	}
	if w.get("auth.challenge_required") != false {
		t.Error("no signature is needed on this machine")
	}
	nonce, err := base64.RawURLEncoding.DecodeString(w.text("challenge"))
	if err != nil || len(nonce) != 32 || w.text("challenge") == b.welcome.text("challenge") {
		t.Errorf("%q and %q, %v", w.text("challenge"), b.welcome.text("challenge"), err)
	}
}

func TestTheGrantIsExplicitSortedAndExpires(t *testing.T) {
	h := newHub(t)
	a, b := h.dial(), h.dial()
	f := a.auth(h.token, "terminals", "operator.approvals", "no:such", "task:submit")
	want := []any{"approval:read", "approval:respond", "task:submit", "terminal:create", "terminal:read", "terminal:write"}
	if d := cmp.Diff(want, f.get("granted_scopes")); d != "" {
		t.Errorf("d is %v; want no difference", d)
	}
	at, err := time.Parse(time.RFC3339, f.text("expires_at"))
	if left := time.Until(at); err != nil || left > 24*time.Hour || left < 23*time.Hour {
		t.Errorf("%v, %v; want no error, left to be at most 24*time.Hour, left to be at least 23*time.Hour", left, err)
	}
	if f.text("principal") != "owner" || f.text("session_id") == "" || f.get("device_token") != nil {
		t.Errorf("%s", f)
	}
	if again := b.auth(h.token, "*"); again.text("session_id") == f.text("session_id") {
		t.Error("two sessions have one id")
	}
}

func TestTheCredentialBoundsTheGrant(t *testing.T) {
	h := newHub(t)
	narrow := h.newToken("", "task:read", "status:read")
	for _, tt := range []struct {
		ask  []string
		want []any
	}{
		{[]string{"*"}, []any{"status:read", "task:read"}},
		{[]string{"task:*", "terminal:create"}, []any{"task:read"}},
		{[]string{"admin"}, []any{"status:read", "task:read"}},
		{[]string{"nonsense", "TASK:READ"}, []any{}},
		{[]string{}, []any{}},
	} {
		c := h.dial()
		f := c.auth(narrow.Secret, tt.ask...)
		if d := cmp.Diff(tt.want, f.get("granted_scopes")); d != "" {
			t.Errorf("%v: %s; want no difference", tt.ask, d)
		}
		c.alive()
		missing := c.ask("task:submit", obj{"goal": "/say x", "messages": []any{}})
		wantError(t, missing, "auth_failed", "insufficient_scope")
		if d := cmp.Diff([]any{"task:submit"}, missing.get("details.required")); d != "" {
			t.Errorf("d is %v; want no difference", d)
		}
		if d := cmp.Diff(f.get("granted_scopes"), missing.get("details.granted")); d != "" {
			t.Errorf("d is %v; want no difference", d)
		}
		if got := c.ask("connection:close", obj{}); got.Type != "connection:goodbye" {
			t.Errorf("%s; want got.Type to be \"connection:goodbye\"", got)
		}
	}
}

func TestBadTokensAreToldApart(t *testing.T) {
	h := newHub(t)
	short := h.issue(identity.TokenRequest{Name: "short", TTL: time.Second, Scopes: []string{"task:read"}})
	revoked := h.newToken("", "task:read")
	check(t, h.people.Revoke(t.Context(), identity.Local(h.owner), revoked.ID))
	for _, tt := range []struct{ token, code, reason string }{
		{"prl_" + strings.Repeat("x", 42) + "w", "auth_failed", "unknown_token"},
		{"", "auth_failed", "missing_token"},
		{"hello", "invalid_token", "malformed"},
		{"prl_short", "invalid_token", "malformed"},
		{revoked.Secret, "invalid_token", "revoked"},
	} {
		c := h.dial()
		c.wantFatal(c.auth(tt.token, "*"), tt.code, tt.reason, 4401)
		h.dial().auth(h.token) // keeps the address from being locked
	}
	<-time.After(time.Until(short.Expires))
	c := h.dial()
	c.wantFatal(c.auth(short.Secret, "*"), "invalid_token", "expired", 4401)
	eventually(t, "the refusals are on record", func() bool { return len(h.actions("auth.refused")) == 6 })
	for _, r := range h.actions("auth.") {
		if strings.Contains(string(must(jsonOf(r))(t)), "prl_") {
			t.Errorf("a token is in the trail: %+v", r)
		}
	}
}

// device is a key as a client that read the protocol's text makes it.
type device struct {
	key ed25519.PrivateKey
	id  string
}

func newDevice(t *testing.T) device {
	public, private := must2(ed25519.GenerateKey(nil))(t)
	sum := sha256.Sum256(public)
	return device{private, "dev_" + hex.EncodeToString(sum[:])[:32]}
}

// auth signs the six lines, written down by hand.
func (d device) auth(nonce, token, role string, scopes ...string) obj {
	sorted := slices.Sorted(slices.Values(scopes))
	hash := ""
	if token != "" {
		sum := sha256.Sum256([]byte(token))
		hash = hex.EncodeToString(sum[:])
	}
	text := "viber-auth-v1\n" + nonce + "\n" + d.id + "\n" + role + "\n" + strings.Join(sorted, ",") + "\n" + hash
	public, _ := d.key.Public().(ed25519.PublicKey)
	return obj{
		"device_id": d.id, "token": token, "role": role, "scopes": scopes, "public_key": base64.RawURLEncoding.EncodeToString(public),
		"challenge_response": "ed25519." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(d.key, []byte(text))),
	}
}

func TestAPresentSignatureIsAlwaysVerified(t *testing.T) {
	h := newHub(t)
	d, other := newDevice(t), newDevice(t)
	c := h.dial()
	if f := c.ask("connection:auth", d.auth(c.welcome.text("challenge"), h.token, "operator", "task:read", "approval:read")); f.Type != "connection:authenticated" {
		t.Fatalf("%s; want f.Type to be \"connection:authenticated\"", f)
	}
	neighbour := h.dial()
	for name, tt := range map[string]struct {
		reason string
		auth   func(nonce string) obj
	}{
		"another connection's challenge": {"challenge_mismatch", func(string) obj {
			return d.auth(neighbour.welcome.text("challenge"), h.token, "operator", "task:read")
		}},
		"a made-up challenge": {"bad_signature", func(string) obj { return d.auth("made-up", h.token, "operator", "task:read") }},
		"other scopes": {"bad_signature", func(nonce string) obj {
			a := d.auth(nonce, h.token, "operator", "task:read")
			a["scopes"] = []string{"task:read", "admin"}
			return a
		}},
		"another key": {"device_mismatch", func(nonce string) obj {
			a := d.auth(nonce, h.token, "operator")
			a["public_key"] = other.auth("", "", "operator")["public_key"]
			return a
		}},
		"another prefix": {"bad_signature", func(nonce string) obj {
			a := d.auth(nonce, h.token, "operator")
			a["challenge_response"] = "rsa." + strings.TrimPrefix(a["challenge_response"].(string), "ed25519.")
			return a
		}},
		"no key": {"bad_signature", func(nonce string) obj {
			a := d.auth(nonce, h.token, "operator")
			delete(a, "public_key")
			return a
		}},
	} {
		c := h.dial()
		c.wantFatal(c.ask("connection:auth", tt.auth(c.welcome.text("challenge"))), "auth_failed", tt.reason, 4401)
		if t.Failed() {
			t.Fatalf("name is %v; want not t.Failed()", name)
		}
		h.dial().auth(h.token)
	}
}

func TestASignatureIsDemandedWhereItMustBe(t *testing.T) {
	h := newHub(t, func(d *board.Deps) { d.Challenge = board.ChallengeAlways })
	c := h.dial()
	if c.welcome.get("auth.challenge_required") != true {
		t.Errorf("%s; want c.welcome.get(\"auth.challenge_required\") to be true", c.welcome)
	}
	c.wantFatal(c.auth(h.token, "*"), "auth_failed", "challenge_required", 4401)
	c = h.dial()
	if f := c.ask("connection:auth", newDevice(t).auth(c.welcome.text("challenge"), h.token, "operator", "*")); f.Type != "connection:authenticated" {
		t.Errorf("%s; want f.Type to be \"connection:authenticated\"", f)
	}
}

// What a proxy forwards is not on this machine, whatever the socket says.
func TestAForwardedClientIsNotLocal(t *testing.T) {
	h := newHub(t)
	ws, _, err := h.tryDial(http.Header{"X-Forwarded-For": {"127.0.0.1"}})
	check(t, err)
	c := &client{t: t, ws: ws}
	if f := c.next(); f.get("auth.challenge_required") != true {
		t.Errorf("%s; want f.get(\"auth.challenge_required\") to be true", f)
	}
	c.wantFatal(c.auth(h.token, "*"), "auth_failed", "challenge_required", 4401)
}

func TestARequestBeforeAuthenticationDoesNothing(t *testing.T) {
	h := newHub(t)
	for _, typ := range []string{"task:submit", "terminal:create", "approval:list", "connection:refresh", "nonsense"} {
		c := h.dial()
		c.wantFatal(c.ask(typ, obj{"goal": "/say x", "messages": []any{}}), "auth_failed", "not_authenticated", 4401)
	}
	c := h.connect(h.token)
	if list := c.ask("task:list", obj{}); len(list.get("tasks").([]any)) != 0 {
		t.Errorf("%s; want len(list.get(\"tasks\").([]any)) to be 0", list)
	}
	if list := c.ask("terminal:list", obj{}); len(list.get("terminals").([]any)) != 0 {
		t.Errorf("%s; want len(list.get(\"terminals\").([]any)) to be 0", list)
	}
}

func TestNobodyWaitsForeverForAnAuthentication(t *testing.T) {
	h := newHub(t, limits(board.Limits{Login: 100 * time.Millisecond}))
	c := h.dial()
	c.wantFatal(c.await("connection:error"), "auth_failed", "auth_timeout", 4408)
}

func TestASecondAuthenticationChangesNothing(t *testing.T) {
	h := newHub(t)
	c := h.connect(h.token, "task:read")
	wantError(t, c.auth(h.token, "*"), "protocol_error", "already_authenticated")
	wantError(t, c.ask("task:submit", obj{"goal": "/say x", "messages": []any{}}), "auth_failed", "insufficient_scope")
	if f := c.ask("task:list", obj{}); f.Type != "task:list_response" {
		t.Errorf("%s; want f.Type to be \"task:list_response\"", f)
	}
}

func TestANodeIsNoOperator(t *testing.T) {
	h := newHub(t)
	token := h.issue(identity.TokenRequest{Name: "n", Role: identity.RoleNode})
	d := newDevice(t)
	c := h.dial()
	f := c.ask("connection:auth", d.auth(c.welcome.text("challenge"), token.Secret, "node", "*", "task:submit", "admin"))
	if d := cmp.Diff([]any{"node:register"}, f.get("granted_scopes")); d != "" {
		t.Errorf("d is %v; want no difference", d)
	}
	wantError(t, c.ask("task:submit", obj{"goal": "/say x", "messages": []any{}}), "auth_failed", "insufficient_scope")
	// A token has one role, and a node signs.
	c = h.dial()
	c.wantFatal(c.ask("connection:auth", d.auth(c.welcome.text("challenge"), token.Secret, "operator", "*")), "auth_failed", "role_mismatch", 4401)
	c = h.dial()
	c.wantFatal(c.ask("connection:auth", d.auth(c.welcome.text("challenge"), h.token, "node", "*")), "auth_failed", "role_mismatch", 4401)
	c = h.dial()
	c.wantFatal(c.ask("connection:auth", obj{"device_id": "n", "token": token.Secret, "role": "node", "scopes": []string{}}), "auth_failed", "challenge_required", 4401)
}

// A node has one connection: the newest. Whoever was there before is told and may
// say goodbye; other nodes, and boards, are left alone.
func TestANewerConnectionOfANodeTakesThePlaceOfTheOlder(t *testing.T) {
	told := make(chan board.Newcomer, 8)
	h := newHub(t, func(d *board.Deps) { d.Arrived = func(n board.Newcomer) { told <- n } })
	token := h.issue(identity.TokenRequest{Name: "n", Role: identity.RoleNode})
	connect := func(d device) *client {
		c := h.dial()
		if f := c.ask("connection:auth", d.auth(c.welcome.text("challenge"), token.Secret, "node", "*")); f.Type != "connection:authenticated" {
			t.Fatalf("%s; want f.Type to be \"connection:authenticated\"", f)
		}
		return c
	}
	one, two := newDevice(t), newDevice(t)
	polite, other, boards := connect(one), connect(two), []*client{h.connect(h.token), h.connect(h.token)}
	rude := connect(one)
	if f := polite.await("connection:close"); f.text("reason") != "replaced" {
		t.Errorf("%s; want f.text(\"reason\") to be \"replaced\"", f)
	}
	polite.send("connection:goodbye", obj{})
	if code := polite.closed(); code != 4409 {
		t.Errorf("closed with %d", code)
	}
	// Elsewhere: another hub tells of a newer one, and of an older one that comes late.
	// The one that came twice is meant.
	var last board.Newcomer
	seen := map[string]int{}
	for range 3 {
		n := <-told
		if seen[n.Device]++; seen[n.Device] == 2 {
			last = n
		}
	}
	h.face.Replace(board.Newcomer{Principal: last.Principal, Device: last.Device, Session: "0"})
	rude.alive()
	h.face.Replace(board.Newcomer{Principal: last.Principal, Device: last.Device, Session: "f"})
	if code := rude.closed(); code != 4409 {
		t.Errorf("closed with %d", code)
	}
	for _, c := range append(boards, other) {
		c.alive()
	}
	eventually(t, "it is on record", func() bool { return len(h.actions("auth.replaced")) == 2 })
}

func TestAnotherVersionIsRefused(t *testing.T) {
	h := newHub(t)
	c := h.dial()
	c.wantFatal(c.ask("connection:auth", obj{"device_id": "d", "token": h.token, "role": "operator", "scopes": []string{}, "protocol_version": "2"}),
		"protocol_error", "unsupported_version", 4400)
	c = h.dial()
	if f := c.ask("connection:auth", obj{"device_id": "d", "token": h.token, "role": "operator", "scopes": []string{}, "protocol_version": "1", "client": obj{"name": "x"}}); f.Type != "connection:authenticated" {
		t.Errorf("%s; want f.Type to be \"connection:authenticated\"", f)
	}
}

func TestHeartbeatsWorkBeforeAndAfterAuthentication(t *testing.T) {
	h := newHub(t)
	c := h.dial()
	for range 2 {
		c.alive()
		sent := time.Now().Add(-3 * time.Second).UTC().Format("2006-01-02T15:04:05.000Z")
		f := c.ask("health:ping", obj{"client_time": sent})
		if f.Type != "health:pong" || f.text("client_time") != sent || f.number("latency_ms") < 2900 || f.number("latency_ms") > 60_000 {
			t.Errorf("%s", f)
		}
		for _, odd := range []any{"tomorrow", 5, nil, time.Now().Add(time.Hour).UTC().Format(time.RFC3339)} {
			if f := c.ask("health:ping", obj{"client_time": odd}); f.number("latency_ms") != 0 || f.text("server_time") == "" {
				t.Errorf("%v: %s; want f.number(\"latency_ms\") to be 0, f.text(\"server_time\") not to be \"\"", odd, f)
			}
		}
		c.send("pong", obj{})
		c.send("health:pong", obj{"server_time": "x", "latency_ms": 1})
		if c.welcome.Type != "" {
			c.auth(h.token, "*")
			c.welcome = frame{}
		}
	}
}

func TestASilentClientIsLetGo(t *testing.T) {
	h := newHub(t, limits(board.Limits{Silence: 300 * time.Millisecond, Ping: time.Hour}))
	c := h.dial()
	c.wantFatal(c.await("connection:error"), "protocol_error", "silent", 4408)
}

func TestClosingIsAnsweredBehindWhatWaits(t *testing.T) {
	h := newHub(t)
	c := h.connect(h.token)
	task := c.submit("/say going on\n/sleep 600000", nil)
	c.send("task:list", obj{})
	id := c.send("connection:close", obj{"reason": "bye"})
	c.await("task:list_response")
	f := c.await("connection:goodbye")
	if f.text("reason") != "client_close" || f.ReplyTo != id || !cmp.Equal(f.get("running_tasks"), []any{task}) {
		t.Errorf("%s", f)
	}
	if code := c.closed(); code != websocket.StatusNormalClosure {
		t.Errorf("closed with %d", code)
	}
	again := h.connect(h.token)
	if f := again.ask("task:resume", obj{"task_id": task}); f.text("status") != "running" {
		t.Errorf("the task did not go on: %s", f)
	}
	// A goodbye is enough, too.
	again.send("connection:goodbye", obj{})
	if code := again.closed(); code != websocket.StatusNormalClosure {
		t.Errorf("closed with %d", code)
	}
}

func TestAStoppingHubSaysSoAndWaitsForGoodbyes(t *testing.T) {
	h := newHub(t)
	polite, rude := h.connect(h.token), h.connect(h.token)
	done := make(chan error, 1)
	go func() { done <- h.face.Close(context.Background()) }()
	if f := polite.await("connection:close"); f.text("reason") != "shutdown" {
		t.Errorf("%s; want f.text(\"reason\") to be \"shutdown\"", f)
	}
	polite.send("connection:goodbye", obj{})
	if code := polite.closed(); code != websocket.StatusGoingAway {
		t.Errorf("closed with %d", code)
	}
	if code := rude.closed(); code != websocket.StatusGoingAway {
		t.Errorf("closed with %d", code)
	}
	closes := 0
	for _, f := range rude.seen {
		if f.Type == "connection:close" {
			closes++
		}
	}
	if closes != 1 {
		t.Errorf("a client that says nothing is told %d times that the hub goes, want once", closes)
	}
	check(t, <-done)
}

func TestFiveFailuresLockAnAddressOut(t *testing.T) {
	h := newHub(t)
	wrong := "prl_" + strings.Repeat("x", 42) + "w"
	for range 5 {
		c := h.dial()
		c.wantFatal(c.auth(wrong, "*"), "auth_failed", "unknown_token", 4401)
	}
	c := h.dial()
	f := c.auth(h.token, "*") // not looked at
	if wait := f.number("retry_after_ms"); f.text("code") != "rate_limited" || wait < 1 || wait > 300_000 {
		t.Errorf("%s; want f.text(\"code\") to be \"rate_limited\", wait to be at least 1, wait to be at most 300_000", f)
	}
	if code := c.closed(); code != 4429 {
		t.Errorf("closed with %d", code)
	}
	eventually(t, "the lock is on record", func() bool { return len(h.actions("auth.locked")) == 1 })
}

func TestASuccessClearsTheCount(t *testing.T) {
	h := newHub(t)
	for range 4 {
		for range 2 {
			h.dial().auth("prl_"+strings.Repeat("x", 42)+"w", "*")
		}
		h.connect(h.token)
	}
}

// People who share an address, and the command line, which logs in with every
// command, had sixty logins a minute between them; then all of them were locked out.
func TestOnlyFailedAttemptsOfAnAddressAreCounted(t *testing.T) {
	h := newHub(t, limits(board.Limits{AuthPerMinute: 3}))
	for range 100 {
		c := h.connect(h.token)
		check(t, c.ws.CloseNow())
	}
	h.connect(h.token)
}

func TestGuessesBetweenSuccessesAreCounted(t *testing.T) {
	h := newHub(t, limits(board.Limits{AuthPerMinute: 3}))
	for i := range 3 {
		h.dial().auth("prl_"+strings.Repeat("x", 42)+"w", "*")
		if i < 2 {
			h.connect(h.token)
		}
	}
	c := h.dial()
	if f := c.auth(h.token); f.text("code") != "rate_limited" || f.number("retry_after_ms") < 1 {
		t.Errorf("after three guesses in a minute, want rate_limited with the time to wait: %s", f)
	}
	if code := c.closed(); code != 4429 {
		t.Errorf("closed with %d, want 4429", code)
	}
}

func TestADevicePairsOnceAndSignsFromThenOn(t *testing.T) {
	h := newHub(t)
	pairing := h.issue(identity.TokenRequest{Name: "phone", Pairing: true, Scopes: []string{"task:read", "approval:respond"}})
	d := newDevice(t)
	c := h.dial()
	c.wantFatal(c.ask("connection:auth", obj{"device_id": d.id, "token": pairing.Secret, "role": "operator", "scopes": []string{"*"}}), "auth_failed", "challenge_required", 4401)
	c = h.dial()
	f := c.ask("connection:auth", d.auth(c.welcome.text("challenge"), pairing.Secret, "operator", "*"))
	token := f.text("device_token")
	if f.Type != "connection:authenticated" || !identity.TokenForm(token) || f.text("device_token_expires_at") == "" {
		t.Fatalf("%s", f)
	}
	if d := cmp.Diff([]any{"approval:read", "approval:respond", "task:read"}, f.get("granted_scopes")); d != "" {
		t.Errorf("d is %v; want no difference", d)
	}
	// Spent.
	other := newDevice(t)
	c = h.dial()
	c.wantFatal(c.ask("connection:auth", other.auth(c.welcome.text("challenge"), pairing.Secret, "operator", "*")), "invalid_token", "used", 4401)
	// The device token: signed, by its device.
	c = h.dial()
	if f := c.ask("connection:auth", d.auth(c.welcome.text("challenge"), token, "operator", "*")); f.Type != "connection:authenticated" || f.get("device_token") != nil {
		t.Errorf("%s; want f.Type to be \"connection:authenticated\", f.get(\"device_token\") to be nil", f)
	}
	c = h.dial()
	c.wantFatal(c.ask("connection:auth", obj{"device_id": d.id, "token": token, "role": "operator", "scopes": []string{"*"}}), "auth_failed", "challenge_required", 4401)
	c = h.dial()
	c.wantFatal(c.ask("connection:auth", other.auth(c.welcome.text("challenge"), token, "operator", "*")), "auth_failed", "device_mismatch", 4401)
	// The short form of a pairing token works as well.
	short := h.issue(identity.TokenRequest{Name: "tablet", Pairing: true, Scopes: []string{"task:read"}})
	c = h.dial()
	if f := c.ask("connection:auth", other.auth(c.welcome.text("challenge"), short.Code, "operator", "*")); !identity.TokenForm(f.text("device_token")) {
		t.Errorf("%s; want identity.TokenForm(f.text(\"device_token\"))", f)
	}
}

func TestARefreshCanNarrowAndNeverWiden(t *testing.T) {
	h := newHub(t)
	c := h.dial()
	first := c.auth(h.token, "task:*", "approval:*")
	refresh := func(scopes ...string) frame {
		return c.ask("connection:refresh", obj{"device_id": "laptop", "token": h.token, "role": "operator", "scopes": scopes})
	}
	f := refresh("task:*", "approval:read", "terminal:*")
	if d := cmp.Diff([]any{"approval:read", "task:control", "task:read", "task:submit"}, f.get("granted_scopes")); d != "" {
		t.Errorf("d is %v; want no difference", d)
	}
	if f.text("session_id") != first.text("session_id") || f.text("expires_at") < first.text("expires_at") {
		t.Errorf("%s after %s", f, first)
	}
	if f := refresh("*"); !cmp.Equal(f.get("granted_scopes"), []any{"approval:read", "task:control", "task:read", "task:submit"}) {
		t.Errorf("%s", f)
	}
	wantError(t, c.ask("approval:response", obj{"approval_id": "x", "approved": true}), "auth_failed", "insufficient_scope")
	// Somebody else's token does not renew mine, and a wrong one ends the connection.
	bob := h.newToken("bob", "task:read")
	c.wantFatal(c.ask("connection:refresh", obj{"device_id": "laptop", "token": bob.Secret, "role": "operator", "scopes": []string{"task:read"}}), "auth_failed", "unknown_token", 4401)
	// Signed, the session id stands in the challenge's place.
	d := newDevice(t)
	c = h.dial()
	nonce := c.welcome.text("challenge")
	session := c.ask("connection:auth", d.auth(nonce, h.token, "operator", "task:read")).text("session_id")
	if f := c.ask("connection:refresh", d.auth(session, h.token, "operator", "task:read")); f.Type != "connection:authenticated" {
		t.Errorf("%s; want f.Type to be \"connection:authenticated\"", f)
	}
	c.wantFatal(c.ask("connection:refresh", d.auth(nonce, h.token, "operator", "task:read")), "auth_failed", "challenge_mismatch", 4401)
}

func TestATokenIsRotatedForTheAskerOnly(t *testing.T) {
	h := newHub(t)
	token := h.newToken("", "task:read")
	a, b := h.connect(token.Secret), h.connect(token.Secret)
	f := a.ask("token:rotate", obj{})
	if f.Type != "token:rotated" || !identity.TokenForm(f.text("token")) || f.text("token_id") != token.ID {
		t.Fatalf("%s; want f.Type to be \"token:rotated\", identity.TokenForm(f.text(\"token\")), f.text(\"token_id\") to be %v", f, token.ID)
	}
	until, err := time.Parse(time.RFC3339, f.text("old_valid_until"))
	if left := time.Until(until); err != nil || left < 4*time.Minute || left > 5*time.Minute {
		t.Errorf("%v, %v; want no error, left to be at least 4*time.Minute, left to be at most 5*time.Minute", left, err)
	}
	b.alive()
	for _, seen := range b.seen {
		if seen.Type == "token:rotated" {
			t.Error("the other connection sees the new secret")
		}
	}
	for _, secret := range []string{token.Secret, f.text("token")} {
		c := h.dial()
		if f := c.auth(secret, "*"); !cmp.Equal(f.get("granted_scopes"), []any{"task:read"}) {
			t.Errorf("%s; want cmp.Equal(f.get(\"granted_scopes\"), []any{\"task:read\"})", f)
		}
	}
	// Another's needs device:manage, and must be one's own person's.
	other := h.newToken("", "task:read")
	wantError(t, a.ask("token:rotate", obj{"token_id": other.ID}), "auth_failed", "insufficient_scope")
	manager := h.connect(h.newToken("bob", "device:manage").Secret)
	wantError(t, manager.ask("token:rotate", obj{"token_id": other.ID}), "protocol_error", "bad_payload")
	if f := h.connect(h.token, "device:manage", "task:read").ask("token:rotate", obj{"token_id": other.ID}); f.Type != "token:rotated" {
		t.Errorf("%s; want f.Type to be \"token:rotated\"", f)
	}
}

// A connection with device:manage rotated the owner's token and was handed its
// new secret.
func TestRotatingAnotherTokenNeedsEverythingItCanDo(t *testing.T) {
	h := newHub(t)
	owners := must(h.people.Authenticate(t.Context(), h.token))(t).TokenID
	script := h.connect(h.newToken("", "device:manage").Secret)
	f := script.ask("token:rotate", obj{"token_id": owners})
	wantError(t, f, "auth_failed", "insufficient_scope")
	if !slices.Contains(f.get("details.required").([]any), any("admin")) {
		t.Errorf("the answer does not name what is missing: %s", f)
	}
	// A connection that asked for less than its token can do counts as that.
	wantError(t, h.connect(h.token, "device:manage").ask("token:rotate", obj{"token_id": h.newToken("", "task:read").ID}), "auth_failed", "insufficient_scope")
	h.connect(h.token)
}

func TestARevokedTokenEndsItsConnectionsAndNothingElse(t *testing.T) {
	h := newHub(t)
	token := h.newToken("", "task:*")
	c, other := h.connect(token.Secret), h.connect(h.token)
	task := c.submit("/say on\n/sleep 600000", nil)
	check(t, h.people.Revoke(t.Context(), identity.Local(h.owner), token.ID))
	c.wantFatal(c.await("connection:error"), "invalid_token", "revoked", 4401)
	if f := other.ask("task:resume", obj{"task_id": task}); f.text("status") != "running" {
		t.Errorf("%s; want f.text(\"status\") to be \"running\"", f)
	}
	eventually(t, "the end is on record", func() bool { return len(h.actions("auth.revoked")) == 1 })
}

func TestASessionExpiresWhileItsTaskRunsOn(t *testing.T) {
	h := newHub(t)
	goal := "/say on\n/sleep 600000"
	began := time.Now()
	h.connect(h.token).submit(goal, nil)
	// The token lasts longer than all of it takes here, however busy the machine is.
	ttl := time.Second + 10*time.Since(began)
	token := h.issue(identity.TokenRequest{Name: "short", TTL: ttl, Scopes: []string{"task:*"}})
	c := h.connect(token.Secret)
	task := c.submit(goal, nil)
	c.wantFatal(c.await("connection:error"), "invalid_token", "session_expired", 4401)
	if f := h.connect(h.token).ask("task:resume", obj{"task_id": task}); f.text("status") != "running" {
		t.Errorf("%s; want f.text(\"status\") to be \"running\"", f)
	}
}

// The page holds no token: its cookie, which came with the handshake, is enough.
func TestThePagesCookieIsACredential(t *testing.T) {
	h := newHub(t)
	session := must(h.people.Authenticate(t.Context(), h.token))(t)
	page := must(h.people.OpenPage(t.Context(), session, "browser"))(t)
	ws, _, err := h.tryDial(http.Header{"Cookie": {"parley_session=" + page.Cookie}, "Origin": {"http://127.0.0.1:1"}})
	check(t, err)
	c := &client{t: t, ws: ws}
	c.next()
	f := c.ask("connection:auth", obj{"device_id": "page", "role": "operator", "scopes": []string{"*"}})
	if f.Type != "connection:authenticated" || f.text("principal") != "owner" {
		t.Fatalf("%s; want f.Type to be \"connection:authenticated\", f.text(\"principal\") to be \"owner\"", f)
	}
	// The token that logged it in is not the page's to see.
	wantError(t, c.ask("token:rotate", obj{}), "protocol_error", "bad_payload")
	check(t, h.people.ClosePage(t.Context(), session, page.Page.ID))
	c.wantFatal(c.await("connection:error"), "invalid_token", "revoked", 4401)
}

func TestNobodyIsAskedWhereTheHubIsToldSo(t *testing.T) {
	h := newHub(t, func(d *board.Deps) {
		d.Anonymous = &identity.Actor{Person: identity.Principal{Kind: identity.KindPerson, ID: "x", Name: "x"}, Role: identity.RoleOperator, Scopes: identity.Expand("*")}
	})
	c := h.dial()
	if f := c.ask("connection:auth", obj{"device_id": "d", "role": "operator", "scopes": []string{"task:read"}}); f.text("principal") != "x" {
		t.Errorf("%s; want f.text(\"principal\") to be \"x\"", f)
	}
	ws, _, err := h.tryDial(http.Header{"X-Forwarded-For": {"10.1.2.3"}})
	check(t, err)
	c = &client{t: t, ws: ws}
	c.next()
	c.wantFatal(c.ask("connection:auth", obj{"device_id": "d", "role": "operator", "scopes": []string{"task:read"}}), "auth_failed", "missing_token", 4401)
}

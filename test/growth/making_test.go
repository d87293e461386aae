//go:build linux

package growth_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"parley.internal/client/viber"
	"parley.internal/test/passkeytest"
)

// names are what scopes are drawn from.
var names = rapid.SampledFrom(slices.Concat(everyday, everyday, byName, byName, []string{"task", "fleet", "machine:pc", "machine:lab"}))

// drawScopes is often what new people are given, and a few things by name.
func drawScopes(t *rapid.T) []string {
	some := rapid.SliceOfN(names, 1, 6).Draw(t, "scopes")
	if rapid.IntRange(0, 7).Draw(t, "makes nothing") > 0 {
		some = append(some, "device:manage")
	}
	if rapid.Bool().Draw(t, "and everyday work") {
		some = append(some, "*")
	}
	return some
}

// lives are those that tokens are asked for: of all lengths, up to what nobody lives to see.
var lives = rapid.SampledFrom([]string{"", "1m", "60m", "24h", "9000h", "876000h"})

// usable draws a credential that has not ended; a passkey by itself does nothing.
func (r *run) usable(label string) *credential {
	living := slices.DeleteFunc(slices.Clone(r.there), func(c *credential) bool { return c.dead || c.kind == "passkey" })
	if len(living) == 0 {
		living = append(living, r.mint(r.root, r.people[0], drawScopes(r.t), ""))
	}
	return rapid.SampledFrom(living).Draw(r.t, label)
}

func (r *run) draw(label string, from ...string) string {
	return rapid.SampledFrom(from).Draw(r.t, label)
}

// add notes a credential and looks whether it is at most what it should be.
func (r *run) add(kind string, c *credential) *credential {
	c.kind, c.number = kind, r.next()
	r.there = append(r.there, c)
	if kind != "passkey" {
		r.isWithin(c)
	}
	return c
}

// isWithin asks the hub what it thinks a credential is.
func (r *run) isWithin(c *credential) {
	r.t.Helper()
	var is struct {
		Principal struct{ ID string }
		Scopes    []string
		Expires   time.Time `json:"expires_at"`
	}
	a := r.rest(c, "GET", "/api/session", nil)
	if c.dead {
		if a.status != http.StatusUnauthorized {
			r.t.Fatalf("%s has ended, and is let in: %d %s", c, a.status, a.body)
		}
		return
	}
	if a.status != http.StatusOK {
		r.t.Fatalf("%s has not ended, and is refused: %d %s", c, a.status, a.body)
	}
	r.decode(a, &is)
	if is.Principal.ID != c.person.id {
		r.t.Fatalf("%s acts as somebody else: %s", c, a.body)
	}
	for _, scope := range is.Scopes {
		if !c.scopes[scope] && !isLimit(scope) {
			r.t.Fatalf("%s has %s, which it was not given, or its maker does not have: %s", c, scope, a.body)
		}
	}
	if outlives(is.Expires, c.ends) {
		r.t.Fatalf("%s ends at %v, after what made it, which ends at %v", c, is.Expires, c.ends)
	}
	c.ends = is.Expires
}

func isLimit(scope string) bool {
	return strings.HasPrefix(scope, "machine:") || strings.HasPrefix(scope, "tag:")
}

// born makes a person and a token of theirs, by the owner.
func (r *run) born(name string, wanted []string, life string) *credential {
	p := &person{name: name}
	var made struct{ ID string }
	r.decode(r.rest(r.root, "POST", "/api/people", map[string]any{"name": name}), &made)
	p.id, p.sender = made.ID, name
	r.people = append(r.people, p)
	return r.mint(r.root, p, wanted, life)
}

// mint has a credential make a token, if the hub lets it.
func (r *run) mint(by *credential, of *person, wanted []string, life string) *credential {
	body := map[string]any{"name": "growth", "scopes": wanted}
	if life != "" {
		body["ttl"] = life
	}
	if of != by.person {
		body["principal"] = of.name
	}
	a := r.rest(by, "POST", "/api/tokens", body)
	if a.status/100 != 2 {
		return nil
	}
	if !by.may("device:manage") || of != by.person && !by.may("admin") {
		r.t.Fatalf("%s made a token for %s: %s", by, of.name, a.body)
	}
	var made struct{ ID, Token string }
	r.decode(a, &made)
	c := bound(by, of, wanted)
	c.id, c.secret = made.ID, made.Token
	return r.add("token", c)
}

// Mint is a token for oneself or for somebody else.
func (r *run) Mint(t *rapid.T) {
	by := r.usable("by")
	if rapid.IntRange(0, 3).Draw(t, "a second one by the owner") == 0 {
		by = r.root
	}
	r.mint(by, rapid.SampledFrom(r.people).Draw(t, "for"), drawScopes(t), lives.Draw(t, "life"))
}

// login logs a page in with what proves who comes.
func (r *run) login(proof map[string]any, c *credential) {
	r.page(r.rest(nil, "POST", "/api/session", proof), c)
}

// page notes the page that a login opened.
func (r *run) page(a answer, c *credential) {
	if a.status/100 != 2 {
		r.t.Fatalf("a fresh proof was refused: %d %s", a.status, a.body)
	}
	var opened struct{ CSRF string }
	r.decode(a, &opened)
	c.cookie, c.csrf = a.cookie, opened.CSRF
	r.add("page", c)
}

// OpenPage logs a page in with a token.
func (r *run) OpenPage(*rapid.T) {
	by := r.usable("by")
	if by.kind == "page" {
		return // it has no token to show
	}
	c := &credential{person: by.person, scopes: by.scopes, machines: by.machines, ends: by.ends, maker: by, token: by}
	r.login(map[string]any{"token": by.secret}, c)
}

// LogIn makes a login link or a pairing code, and uses it.
func (r *run) LogIn(t *rapid.T) {
	by, of, wanted := r.usable("by"), rapid.SampledFrom(r.people).Draw(t, "for"), drawScopes(t)
	if rapid.IntRange(0, 3).Draw(t, "invited by the owner") == 0 {
		by = r.root
	}
	body, path, key := map[string]any{"scopes": wanted}, "/api/login-links", "login"
	if of != by.person {
		body["principal"] = of.name
	} else if r.draw("how", "link", "code") == "code" {
		path, key = "/api/pairing", "pairing"
	}
	a := r.rest(by, "POST", path, body)
	if a.status/100 != 2 {
		return
	}
	if !by.may("device:manage") || of != by.person && !by.may("admin") {
		t.Fatalf("%s made a way in for %s: %s", by, of.name, a.body)
	}
	var made struct{ Path, Code string }
	r.decode(a, &made)
	_, secret, _ := strings.Cut(made.Path, "#login=")
	r.login(map[string]any{key: secret + made.Code}, bound(by, of, wanted))
}

// Pair makes a pairing code and pairs a device with it, over the board's protocol.
func (r *run) Pair(t *rapid.T) {
	by, wanted := r.usable("by"), drawScopes(t)
	a := r.rest(by, "POST", "/api/pairing", map[string]any{"scopes": wanted})
	if a.status/100 != 2 {
		return
	}
	var code struct{ Token string }
	r.decode(a, &code)
	_, key, err := ed25519.GenerateKey(rand.Reader)
	r.check(err)
	client := r.board(viber.Options{Token: code.Token, Key: key})
	if client == nil {
		t.Fatal("a fresh pairing code was refused")
	}
	c := bound(by, by.person, wanted)
	c.secret = client.Session().DeviceToken
	r.add("device", c)
}

// ceremony is what the hub wants a passkey to answer.
type ceremony struct {
	Ceremony string
	Options  json.RawMessage
}

// AddPasskey adds a passkey and logs a page in with it.
func (r *run) AddPasskey(t *rapid.T) {
	by := r.usable("by")
	var begun ceremony
	a := r.rest(by, "POST", "/api/passkeys/begin", map[string]any{})
	if a.status/100 != 2 {
		return
	}
	if !by.may("device:manage") {
		t.Fatalf("%s begins to add a passkey: %s", by, a.body)
	}
	r.decode(a, &begun)
	device := passkeytest.New(r.world.t, "localhost", strings.Replace(r.URL, "127.0.0.1", "localhost", 1))
	a = r.rest(by, "POST", "/api/passkeys", map[string]any{"ceremony": begun.Ceremony, "name": "growth", "response": json.RawMessage(device.Create(r.world.t, begun.Options))})
	if a.status/100 != 2 {
		t.Fatalf("a passkey was refused: %d %s", a.status, a.body)
	}
	var made struct{ ID string }
	r.decode(a, &made)
	key := r.add("passkey", &credential{id: made.ID, passkey: device, person: by.person, scopes: by.scopes, machines: by.machines, maker: by.line()})
	if key.maker != nil {
		key.ends = key.maker.ends
	}
	r.pageByPasskey(key)
}

func (r *run) pageByPasskey(key *credential) {
	c := &credential{person: key.person, scopes: key.scopes, machines: key.machines, ends: key.ends, maker: key}
	r.page(r.passkeyLogin(key), c)
}

// passkeyLogin answers a login's challenge with a passkey.
func (r *run) passkeyLogin(key *credential) answer {
	var begun ceremony
	r.decode(r.rest(nil, "POST", "/api/session/passkey", map[string]any{}), &begun)
	proof := map[string]any{"ceremony": begun.Ceremony, "response": json.RawMessage(key.passkey.Get(r.world.t, begun.Options))}
	return r.rest(nil, "POST", "/api/session", map[string]any{"passkey": proof})
}

// Rotate has a credential ask for the new secret of another, the owner's included.
func (r *run) Rotate(t *rapid.T) {
	by := r.usable("by")
	other := rapid.SampledFrom(append(r.tokens(), r.root)).Draw(t, "which")
	a := r.rest(by, "POST", "/api/tokens/"+other.id+"/rotate", map[string]any{"renew": rapid.Bool().Draw(t, "renew")})
	if a.status/100 != 2 {
		return
	}
	if other.dead || !by.mayRotate(other) {
		t.Fatalf("%s got the new secret of %s\nby holds %v\nthe other %v\n%s", by, other, by.scopes, other.scopes, a.body)
	}
	var made struct{ Token string }
	r.decode(a, &made)
	other.secret = made.Token
	if by.line() != nil && other != by.line() {
		other.ends = by.line().ends
	}
	r.isWithin(other)
}

func (r *run) tokens() []*credential {
	return slices.DeleteFunc(slices.Clone(r.there), func(c *credential) bool { return c.kind != "token" })
}

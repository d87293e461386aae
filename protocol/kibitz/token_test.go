package kibitz

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"
)

func (v *vectors) private(t testing.TB) *PrivateKey {
	t.Helper()
	k, err := ParsePrivateKey(Raw(v.Keys["agentPrivate"]))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func reasonOf(err error) string {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return r.Reason
	}
	return "ok"
}

type claims map[string]any

func signed1(t testing.TB, k *PrivateKey, base, change claims) string {
	t.Helper()
	all := claims{}
	for _, m := range []claims{base, change} {
		maps.Copy(all, m)
	}
	token, err := Sign(k, all)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestManifestIsJudgedInOrder(t *testing.T) {
	v := loadVectors(t, "testdata/vectors.json")
	k := v.private(t)
	base := claims{"members": []string{" ADA@x.org"}, "mode": "google", "room": v.Room, "exp": v.Now + 1}
	for want, change := range map[string]claims{
		"ok":                 {},
		"wrong room":         {"room": "x", "mode": "names", "exp": 0},
		"wrong mode":         {"mode": "names", "exp": 0},
		"expired":            {"exp": v.Now, "members": nil},
		"no members":         {"members": []string{}, "mh": []string{}, "agentKeys": []string{}},
		"malformed manifest": {"members": "ada"},
	} {
		m, err := VerifyManifest(signed1(t, k, base, change), v.Room, ManifestGoogle, k.Public(), v.now())
		if got := reasonOf(err); got != want || (err != nil && CodeOf(err) != PolicyBad) {
			t.Errorf("%q: %v", want, err)
		}
		if err == nil && (!m.HasMember("ada@X.org") || m.HasMember("bob@x.org")) {
			t.Error("members")
		}
	}
	token := signed1(t, k, base, nil)
	if _, err := VerifyManifest(token, v.Room, "", v.key(t, "other"), v.now()); reasonOf(err) != "bad signature" {
		t.Errorf("foreign key: %v", err)
	}
	other := signed1(t, k, base, claims{"room": "x"})
	spliced := token[:strings.Index(token, ".")] + other[strings.Index(other, "."):]
	if _, err := VerifyManifest(spliced, v.Room, "", k.Public(), v.now()); reasonOf(err) != "bad signature" {
		t.Errorf("splice: %v", err)
	}
}

func TestHashedListMatchesThroughHashesOnly(t *testing.T) {
	m := &Manifest{Room: "r", Members: []string{"a@x.org"}, Domains: []string{"x.org"}, MH: []string{HashMember("b@x.org", "r")}}
	if m.HasMember("a@x.org") || !m.HasMember(" B@X.org") {
		t.Error("the plain list counted, or the hash did not")
	}
	m.MH = nil
	if !m.HasMember("c@X.ORG") || m.HasMember("c@y.org") || m.HasMember("x.org") {
		t.Error("domains")
	}
	for mode, want := range map[string]string{"google": "oidc", "invite": "invite", "names": "hub", "": ""} {
		if got, ok := (&Manifest{Mode: mode}).HumansMode(); got != want || ok != (want != "") {
			t.Errorf("%q: %q", mode, got)
		}
	}
}

func TestInviteIsJudgedInOrder(t *testing.T) {
	v := loadVectors(t, "testdata/vectors.json")
	k := v.private(t)
	base := claims{"name": "Ada", "room": v.Room, "exp": v.Now + 1}
	for want, change := range map[string]claims{
		"ok":            {"jkt": "J", "caps": claims{"act": []string{"act", "fly"}}},
		"wrong room":    {"room": "x", "exp": 0},
		"expired":       {"exp": v.Now, "name": ""},
		"no name":       {"name": ""},
		"bad signature": {"jkt": 5},
	} {
		in, err := VerifyInvite(signed1(t, k, base, change), v.Room, k.Public(), v.now())
		if got := reasonOf(err); got != want || (err != nil && CodeOf(err) != GateCode(want)) {
			t.Errorf("%q: %v", want, err)
		}
		if err == nil && (in.JKT != "J" || in.Caps.String() != "act") {
			t.Errorf("%+v", in)
		}
	}
	if _, err := VerifyInvite("x", v.Room, k.Public(), v.now()); reasonOf(err) != "bad signature" {
		t.Errorf("garbage: %v", err)
	}
}

func TestHostCommandIsJudgedInOrder(t *testing.T) {
	v := loadVectors(t, "testdata/vectors.json")
	k := v.private(t)
	base := claims{"k": commandKind, "room": v.Room, "fp": v.Fingerprint, "op": "kick", "iat": v.Now}
	for want, change := range map[string]claims{
		"ok":                                {},
		"wrong command kind":                {"k": assertionKind, "room": "x"},
		"wrong room":                        {"room": "x", "fp": "y"},
		"not cert-bound to this connection": {"fp": "y", "op": "z"},
		"unknown op":                        {"op": "explode", "iat": nil},
		"no iat":                            {"iat": nil},
		"command from the future":           {"iat": v.Now + 61},
		"stale command":                     {"iat": v.Now - 121},
	} {
		_, err := VerifyCommand(signed1(t, k, base, change), v.Room, v.Fingerprint, Raw(v.Keys["agent"]), v.now())
		if got := reasonOf(err); got != want || (err != nil && CodeOf(err) != HostDenied) {
			t.Errorf("%q: %v", want, err)
		}
	}
	good, err := SignCommand(k, Command{Op: OpLock}, v.Room, v.Fingerprint, v.now())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ want, token, key string }{
		{"ok", good, string(v.Keys["agent"])},
		{"missing command", "", ""},
		{"no host key", good, ""},
		{"bad host key", good, string(v.Keys["agentPrivate"])},
		{"bad signature", good, string(v.Keys["other"])},
	} {
		if _, err := VerifyCommand(c.token, v.Room, v.Fingerprint, Raw(c.key), v.now()); reasonOf(err) != c.want {
			t.Errorf("%q: %v; want reasonOf(err) to be %v", c.want, err, c.want)
		}
	}
}

func TestAssertionNeedsSomethingToJudge(t *testing.T) {
	v := loadVectors(t, "testdata/vectors.json")
	good := v.Assertions["good"].Token
	for _, c := range []struct {
		token, fp string
		keys      []AllowedKey
		want      Code
	}{
		{"", v.Fingerprint, v.allowed(t), GateMissing},
		{good, " ", v.allowed(t), GateMissing},
		{good, v.Fingerprint, nil, GateNoAgents},
		{good, v.Fingerprint, []AllowedKey{{Key: Raw(`{}`)}}, GateUnlisted},
	} {
		if _, err := VerifyAssertion(c.token, v.Room, c.fp, c.keys, v.now()); CodeOf(err) != c.want {
			t.Errorf("%s: %v; want CodeOf(err) to be %v", c.want, err, c.want)
		}
	}
}

func TestKeysThatAreNone(t *testing.T) {
	v := loadVectors(t, "testdata/vectors.json")
	good := string(v.Keys["agent"])
	for name, text := range map[string]string{
		"empty":        ``,
		"no object":    `[]`,
		"other curve":  strings.Replace(good, "P-256", "P-384", 1),
		"other type":   strings.Replace(good, `"EC"`, `"OKP"`, 1),
		"short":        `{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}`,
		"off curve":    `{"kty":"EC","crv":"P-256","x":"` + strings.Repeat("A", 43) + `","y":"` + strings.Repeat("A", 43) + `"}`,
		"with private": string(v.Keys["agentPrivate"]),
	} {
		if _, err := ParsePublicKey(Raw(text)); !errors.Is(err, ErrBadKey) {
			t.Errorf("%s: %v; want ErrBadKey", name, err)
		}
	}
	k := v.private(t)
	if _, err := json.Marshal(k); err == nil {
		t.Error("a private key left by being part of something")
	}
	out, err := k.ExportPrivate()
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParsePrivateKey(out)
	if err != nil || !again.Public().Equal(k.Public()) {
		t.Errorf("export: %v", err)
	}
	public, err := json.Marshal(k.Public())
	if err != nil || strings.Contains(string(public), `"d"`) {
		t.Errorf("%s %v; want no error, not \"\"d\"\" in it", public, err)
	}
	mixed := strings.Replace(string(out), k.Public().jwk().X, v.key(t, "other").jwk().X, 1)
	mixed = strings.Replace(mixed, k.Public().jwk().Y, v.key(t, "other").jwk().Y, 1)
	if _, err := ParsePrivateKey(Raw(mixed)); !errors.Is(err, ErrBadKey) {
		t.Errorf("mixed halves: %v", err)
	}
}

func TestOriginIsWhatTheClientDialled(t *testing.T) {
	for in, want := range map[string]string{
		"ws://127.0.0.1:7788/rooms/x/ws": "http://127.0.0.1:7788", "wss://HUB.example:443/": "https://hub.example",
		"https://hub.example:8443": "https://hub.example:8443", "ws://[::1]:80/": "http://[::1]", "http://[FE80::1]:81": "http://[fe80::1]:81",
		"ftp://x": "", "wss://": "", "hub": "",
	} {
		if got, err := Origin(in); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", in, got, err)
		}
	}
}

func FuzzToken(f *testing.F) {
	v := loadVectors(f, "testdata/vectors.json")
	for _, c := range v.Assertions {
		f.Add(c.Token)
	}
	for _, c := range v.Credit.Cases {
		f.Add(c.Token)
	}
	f.Add(v.Manifest.Token)
	allowed, key := v.allowed(f), v.key(f, "creator")
	set, err := ParseKeySet(Raw(v.Credit.JWKS))
	if err != nil {
		f.Fatal(err)
	}
	known := map[string]bool{v.Manifest.Token: true, v.Invite.Token: true}
	f.Fuzz(func(t *testing.T, token string) {
		_, errA := VerifyAssertion(token, v.Room, v.Fingerprint, allowed, v.now())
		_, errC := VerifyCredit(token, CreditRules{Issuers: []string{v.Credit.Issuer}, Room: v.Room, Keys: set}, v.now())
		for _, err := range []error{errA, errC} {
			if err != nil && CodeOf(err) == "" {
				t.Fatalf("no code: %v", err)
			}
		}
		if _, err := VerifyManifest(token, v.Room, "", key, time.Unix(v.Now, 0)); err == nil && !known[token] {
			t.Fatal("a manifest nobody signed")
		}
	})
}

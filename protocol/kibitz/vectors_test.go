package kibitz

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type verdict struct{ Expect, Token string }

type vectors struct {
	Now                int64
	Room, Fingerprint  string
	Keys               map[string]json.RawMessage
	Thumbprints        map[string]string
	NormalizeRoom      [][2]string
	ChannelFingerprint []struct{ Origin, Room, Nonce, Expect string }
	Nonce              struct{ FP, Salt, Expect string }
	HashedMember       []struct{ Email, Room, Expect string }
	Manifest           struct {
		Token, ExpectLabel string
		ExpectGrant        Grant
	}
	Assertions map[string]verdict
	Invite     struct {
		Token  string
		Expect struct{ Name string }
	}
	HostCommand struct {
		Token  string
		Expect struct{ Op, Target string }
	}
	Credit struct {
		Issuer, Kind string
		JWKS         json.RawMessage
		Cases        map[string]verdict
	}
	Seal   []struct{ Secret, K, E, To, Plain, Box string }
	Grants struct {
		Sanitise []struct {
			In     json.RawMessage
			Expect Grant
		}
		Intersect []struct{ Request, Allowed, Expect Grant }
		Effective []struct{ In, Expect Grant }
	}
}

func (v *vectors) now() time.Time { return time.Unix(v.Now, 0) }

func loadVectors(t testing.TB, path string) *vectors {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	v := &vectors{}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestVectors(t *testing.T) {
	runVectors(t, loadVectors(t, "testdata/vectors.json"))
}

// The second set was made with WebCrypto: what browsers really produce.
func TestVectorsMadeWithWebCrypto(t *testing.T) {
	runVectors(t, loadVectors(t, "testdata/vectors-webcrypto.json"))
}

func runVectors(t *testing.T, v *vectors) {
	t.Run("keys", func(t *testing.T) { v.keys(t) })
	t.Run("hashes", func(t *testing.T) { v.hashes(t) })
	t.Run("tokens", func(t *testing.T) { v.tokens(t) })
	t.Run("assertions", func(t *testing.T) { v.assertions(t) })
	t.Run("credits", func(t *testing.T) { v.credits(t) })
	t.Run("seals", func(t *testing.T) { v.seals(t) })
	t.Run("grants", func(t *testing.T) { v.grants(t) })
}

func (v *vectors) key(t testing.TB, name string) *PublicKey {
	t.Helper()
	k, err := ParsePublicKey(Raw(v.Keys[name]))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (v *vectors) keys(t *testing.T) {
	for name, want := range v.Thumbprints {
		if got := v.key(t, name).Thumbprint(); got != want {
			t.Errorf("thumbprint of %s: %s, want %s", name, got, want)
		}
	}
	if _, err := ParsePublicKey(Raw(v.Keys["agentPrivate"])); err == nil {
		t.Error("a private key passed for a public one")
	}
	private, err := ParsePrivateKey(Raw(v.Keys["agentPrivate"]))
	if err != nil {
		t.Fatal(err)
	}
	token, err := SignAssertion(private, v.Room, v.Fingerprint, v.now())
	if err != nil {
		t.Fatal(err)
	}
	proven, err := VerifyAssertion(token, v.Room, v.Fingerprint, []AllowedKey{{Key: Raw(v.Keys["agent"])}}, v.now())
	if err != nil || !proven.Key.Equal(v.key(t, "agent")) {
		t.Errorf("own assertion: %v", err)
	}
}

func (v *vectors) hashes(t *testing.T) {
	for _, c := range v.NormalizeRoom {
		got, err := NormalizeRoom(c[0])
		if got != c[1] || (err == nil) != (c[1] != "") {
			t.Errorf("room %q: %q, %v", c[0], got, err)
		}
	}
	for _, c := range v.ChannelFingerprint {
		if got := ChannelFingerprint(c.Origin, c.Room, c.Nonce); got != c.Expect || !ValidFingerprint(got) {
			t.Errorf("channel fingerprint: %s, want %s", got, c.Expect)
		}
	}
	for _, c := range v.HashedMember {
		if got := HashMember(c.Email, c.Room); got != c.Expect {
			t.Errorf("hashed member %q: %s, want %s", c.Email, got, c.Expect)
		}
	}
	if got := OIDCNonce(v.Nonce.FP, v.Nonce.Salt); got != v.Nonce.Expect {
		t.Errorf("nonce: %s, want %s", got, v.Nonce.Expect)
	}
}

func (v *vectors) tokens(t *testing.T) {
	invite, err := VerifyInvite(v.Invite.Token, v.Room, v.key(t, "creator"), v.now())
	if err != nil || invite.Name != v.Invite.Expect.Name {
		t.Errorf("invite: %+v, %v", invite, err)
	}
	c, err := VerifyCommand(v.HostCommand.Token, v.Room, v.Fingerprint, Raw(v.Keys["host"]), v.now())
	if err != nil || string(c.Op) != v.HostCommand.Expect.Op || c.Target != v.HostCommand.Expect.Target {
		t.Errorf("host command: %+v, %v", c, err)
	}
}

func (v *vectors) allowed(t testing.TB) []AllowedKey {
	t.Helper()
	m, err := VerifyManifest(v.Manifest.Token, v.Room, "", v.key(t, "creator"), v.now())
	if err != nil {
		t.Fatal(err)
	}
	return m.AgentKeys
}

func (v *vectors) assertions(t *testing.T) {
	allowed := v.allowed(t)
	for name, c := range v.Assertions {
		proven, err := VerifyAssertion(c.Token, v.Room, v.Fingerprint, allowed, v.now())
		judge(t, name, c.Expect, err, GateCode)
		if err == nil {
			entry := allowed[proven.Entry]
			if entry.Label != v.Manifest.ExpectLabel || !cmp.Equal(*entry.Caps, v.Manifest.ExpectGrant) {
				t.Errorf("%s: admitted as %+v", name, entry)
			}
		}
	}
}

func (v *vectors) credits(t *testing.T) {
	set, err := ParseKeySet(Raw(v.Credit.JWKS))
	if err != nil {
		t.Fatal(err)
	}
	rules := CreditRules{Issuers: []string{v.Credit.Issuer}, Kind: v.Credit.Kind, Room: v.Room, Keys: set}
	for name, c := range v.Credit.Cases {
		_, err := VerifyCredit(c.Token, rules, v.now())
		judge(t, name, c.Expect, err, CreditCode)
	}
}

// judge compares a verdict; every reason has its code.
func judge(t *testing.T, name, expect string, err error, code func(string) Code) {
	t.Helper()
	got := "ok"
	if err != nil {
		r, ok := err.(*Refusal) //nolint:errorlint // the exact type is promised
		if !ok {
			t.Fatalf("%s: untyped %v", name, err)
		}
		got = r.Reason
		if r.Code == "" || r.Code != code(r.Reason) {
			t.Errorf("%s: code %q", name, r.Code)
		}
	}
	if got != expect {
		t.Errorf("%s: %q, want %q", name, got, expect)
	}
}

func (v *vectors) grants(t *testing.T) {
	for _, c := range v.Grants.Sanitise {
		if d := cmp.Diff(c.Expect, Sanitise(Raw(c.In))); d != "" {
			t.Errorf("sanitise %s:\n%s", c.In, d)
		}
	}
	for _, c := range v.Grants.Intersect {
		if d := cmp.Diff(c.Expect, Intersect(c.Request, c.Allowed)); d != "" {
			t.Errorf("intersect:\n%s", d)
		}
	}
	for _, c := range v.Grants.Effective {
		got := c.In.Effective(v.now())
		if !cmp.Equal(c.Expect.Perceive, got.Perceive) || !cmp.Equal(c.Expect.Act, got.Act) {
			t.Errorf("effective: %+v, want %+v", got, c.Expect)
		}
	}
}

func (v *vectors) seals(t *testing.T) {
	for _, c := range v.Seal {
		secret, err := ParseSecret(c.Secret)
		if err != nil {
			t.Fatal(err)
		}
		key, err := NewSealKey(secret, v.Room)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := key.Unbox(c.Box, ContentKind(c.K), c.E, c.To)
		if err != nil || string(plain) != c.Plain {
			t.Errorf("%s: %s, %v; want no error, string(plain) to be %v", c.Box, plain, err, c.Plain)
		}
	}
}

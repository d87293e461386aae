package room_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"maps"
	"math/big"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"parley.internal/protocol/kibitz"
)

// issuer signs tokens and shows its keys.
type issuer struct {
	t      testing.TB
	signer jose.Signer
	jwks   json.RawMessage
	down   atomic.Bool
	asked  atomic.Int64
}

func newIssuer(t testing.TB, alg jose.SignatureAlgorithm) *issuer {
	t.Helper()
	var key crypto.Signer
	if alg == jose.ES256 {
		key = must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	} else {
		key = must(rsa.GenerateKey(rand.Reader, 2048))(t)
	}
	i := &issuer{t: t}
	i.signer = must(jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: jose.JSONWebKey{Key: key, KeyID: "k1"}}, (&jose.SignerOptions{}).WithType("JWT")))(t)
	i.jwks = must(json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k1", Use: "sig"}}}))(t)
	return i
}

func (i *issuer) sign(claims obj) string {
	i.t.Helper()
	return must(jwt.Signed(i.signer).Claims(claims).Serialize())(i.t)
}

// fetch is a key server that may be down.
func (i *issuer) fetch(context.Context, string) ([]byte, error) {
	i.asked.Add(1)
	if i.down.Load() {
		return nil, errors.New("down")
	}
	return i.jwks, nil
}

func with(o obj, key string, v any) obj {
	out := maps.Clone(o)
	if v == nil {
		delete(out, key)
	} else {
		out[key] = v
	}
	return out
}

func TestAnIssuerVouchesForAnAgent(t *testing.T) {
	for _, alg := range []jose.SignatureAlgorithm{jose.RS256, jose.ES256} {
		t.Run(string(alg), func(t *testing.T) {
			i, foreign := newIssuer(t, alg), newIssuer(t, alg)
			h := newHub(t, withFetch(i.fetch))
			key, thief := newKey(t), newKey(t)
			entry := obj{"iss": "https://id.example", "jwksUri": "https://id.example/jwks", "sub": "svc-*", "grant": obj{"perceive": []string{"read-chat"}, "act": []string{"send-chat"}}}
			id := h.open("r", obj{"agents": obj{"issuers": []obj{entry}}})
			now := time.Now().Unix()
			good := obj{"iss": "https://id.example", "aud": id, "sub": "svc-7", "iat": now, "exp": now + 600, "cnf": obj{"jkt": key.Public().Thumbprint()}}
			for name, tc := range map[string]struct {
				token string
				key   *kibitz.PrivateKey
				code  kibitz.Code
			}{
				"iss":                {i.sign(with(good, "iss", "https://evil")), key, kibitz.GateIssuer},
				"aud":                {i.sign(with(good, "aud", "other")), key, kibitz.GateIssuer},
				"sub":                {i.sign(with(good, "sub", "admin")), key, kibitz.GateIssuer},
				"no exp":             {i.sign(with(good, "exp", nil)), key, kibitz.GateIssuer},
				"no iat":             {i.sign(with(good, "iat", nil)), key, kibitz.GateIssuer},
				"expired":            {i.sign(with(with(good, "iat", now-700), "exp", now-100)), key, kibitz.GateIssuer},
				"from the future":    {i.sign(with(with(good, "iat", now+300), "exp", now+600)), key, kibitz.GateIssuer},
				"lives too long":     {i.sign(with(good, "exp", now+4000)), key, kibitz.GateIssuer},
				"bad signature":      {foreign.sign(good), key, kibitz.GateIssuer},
				"malformed":          {"nonsense", key, kibitz.GateIssuer},
				"another's token":    {i.sign(good), thief, kibitz.GateUnlisted},
				"no key in the word": {i.sign(with(good, "cnf", nil)), key, kibitz.GateUnlisted},
			} {
				c := h.dial(id, "")
				if l := c.turnedAway(tc.code, obj{"agentToken": tc.token, "agentKey": tc.key.Public(), "agentAssertion": c.proof(tc.key)}); t.Failed() {
					t.Fatalf("%s: %+v; want not t.Failed()", name, l)
				}
			}
			c := h.dial(id, "")
			c.turnedAway(kibitz.GateMissing, obj{"agentToken": i.sign(good), "agentKey": key.Public()})
			c.voice(obj{"agentToken": i.sign(with(good, "aud", []string{"x", id})), "agentKey": key.Public(), "agentAssertion": c.proof(key)})
			if c.self.Grant.String() != "read-chat,send-chat" || c.self.KeyID != key.Public().Thumbprint() {
				t.Errorf("%+v", c.self)
			}
			if n := i.asked.Load(); n != 1 {
				t.Errorf("the key server was asked %d times", n)
			}
			h.setPolicy(id, obj{"agents": obj{"issuers": []obj{with(entry, "sub", "job-*")}}})
			if k := want[*kibitz.Kick](c); k.Code != kibitz.KeyRevoked {
				t.Errorf("%+v; want k.Code to be %v", k, kibitz.KeyRevoked)
			}
		})
	}
}

func TestAKeyServerThatIsAwayIsARefusal(t *testing.T) {
	i := newIssuer(t, jose.RS256)
	i.down.Store(true)
	h := newHub(t, withFetch(i.fetch))
	key := newKey(t)
	entry := obj{"iss": "https://id.example", "jwksUri": "https://id.example/jwks", "sub": "*"}
	id := h.open("r", obj{"agents": obj{"issuers": []obj{entry}}})
	plain := h.open("plain", obj{"agents": obj{"issuers": []obj{with(entry, "jwksUri", "http://id.example/jwks")}}})
	now := time.Now().Unix()
	for _, room := range []string{id, plain} {
		token := i.sign(obj{"iss": "https://id.example", "aud": room, "sub": "x", "iat": now, "exp": now + 60, "cnf": obj{"jkt": key.Public().Thumbprint()}})
		c := h.dial(room, "")
		c.turnedAway(kibitz.GateUnavailable, obj{"agentToken": token, "agentKey": key.Public(), "agentAssertion": c.proof(key)})
		if room == plain {
			continue
		}
		i.down.Store(false)
		c.voice(obj{"agentToken": token, "agentKey": key.Public(), "agentAssertion": c.proof(key)})
	}
}

// authority is a certificate authority for tests.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t testing.TB, parent *authority) *authority {
	t.Helper()
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a := &authority{key: key}
	by, signer := tmpl, key
	if parent != nil {
		by, signer = parent.cert, parent.key
		tmpl.Subject.CommonName = "between"
	}
	a.cert = must(x509.ParseCertificate(must(x509.CreateCertificate(rand.Reader, tmpl, by, &key.PublicKey, signer))(t)))(t)
	return a
}

func (a *authority) pem() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}))
}

func b64(der []byte) string { return base64.StdEncoding.EncodeToString(der) }

// leaf issues a certificate for a key.
func (a *authority) leaf(t testing.TB, key crypto.PublicKey, name string, until time.Time) string {
	t.Helper()
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: until,
		URIs: []*url.URL{must(url.Parse("https://unrelated.example"))(t), must(url.Parse(name))(t)},
	}
	return b64(must(x509.CreateCertificate(rand.Reader, tmpl, a.cert, key, a.key))(t))
}

func TestACertificateChainAdmitsAnAgent(t *testing.T) {
	h := newHub(t)
	ecKey := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	key := must(kibitz.NewPrivateKey(ecKey))(t)
	root, foreign := newAuthority(t, nil), newAuthority(t, nil)
	between := newAuthority(t, root)
	id := h.open("r", obj{"agents": obj{"ca": obj{"roots": []string{root.pem()}, "spiffe": "spiffe://td/agents/*", "grant": obj{"perceive": []string{"read-chat"}}}}})
	later := time.Now().Add(time.Hour)
	rsaKey := must(rsa.GenerateKey(rand.Reader, 2048))(t)
	good := []string{between.leaf(t, &ecKey.PublicKey, "spiffe://td/agents/a", later), b64(between.cert.Raw)}
	for name, chain := range map[string][]string{
		"a foreign root":        {foreign.leaf(t, &ecKey.PublicKey, "spiffe://td/agents/a", later)},
		"a link is missing":     {good[0]},
		"expired":               {root.leaf(t, &ecKey.PublicKey, "spiffe://td/agents/a", time.Now().Add(-time.Minute))},
		"another name":          {root.leaf(t, &ecKey.PublicKey, "spiffe://td/people/a", later)},
		"another kind of key":   {root.leaf(t, &rsaKey.PublicKey, "spiffe://td/agents/a", later)},
		"not a certificate":     {"AAAA"},
		"not base64":            {"***"},
		"the authority's chain": {b64(root.cert.Raw)},
	} {
		c := h.dial(id, "")
		if l := c.turnedAway(kibitz.GateChain, obj{"agentChain": chain, "agentAssertion": c.proof(key)}); t.Failed() {
			t.Fatalf("%s: %+v; want not t.Failed()", name, l)
		}
	}
	c := h.dial(id, "")
	c.turnedAway(kibitz.GateTooLarge, obj{"agentChain": []string{"a", "b", "c", "d", "e"}, "agentAssertion": c.proof(key)})
	c.turnedAway(kibitz.GateUnlisted, obj{"agentChain": good, "agentAssertion": c.proof(newKey(t))})
	c.voice(obj{"agentChain": good, "agentAssertion": c.proof(key)})
	if m := lastRoster(c); len(m.Members) != 1 || c.self.Grant.String() != "read-chat" || c.self.KeyID != key.Public().Thumbprint() {
		t.Errorf("%+v", c.self)
	}
	h.setPolicy(id, obj{"agents": obj{"ca": obj{"roots": []string{foreign.pem()}, "spiffe": "spiffe://td/agents/*"}}})
	if k := want[*kibitz.Kick](c); k.Code != kibitz.KeyRevoked {
		t.Errorf("%+v; want k.Code to be %v", k, kibitz.KeyRevoked)
	}
}

func TestIDTokens(t *testing.T) {
	i, foreign := newIssuer(t, jose.RS256), newIssuer(t, jose.RS256)
	h := newHub(t, withFetch(i.fetch))
	id := h.open("r", obj{"humans": obj{"mode": "oidc", "oidc": obj{"issuer": "https://accounts.example", "clientId": "me", "jwksUri": "https://accounts.example/jwks", "emails": []string{"Ann@Example.org"}, "domains": []string{"firm.example"}}}, "host": obj{"email": "boss@firm.example"}})
	now := time.Now().Unix()
	good := func(c *client) obj {
		return obj{"iss": "https://accounts.example", "aud": "me", "sub": "1", "iat": now, "exp": now + 300, "nonce": kibitz.OIDCNonce(c.fp(), id), "email": "ann@example.org", "email_verified": true, "name": "Ann A"}
	}
	for name, tc := range map[string]struct {
		token func(c *client) string
		code  kibitz.Code
	}{
		"nothing":           {func(*client) string { return "" }, kibitz.GateMissing},
		"another signer":    {func(c *client) string { return foreign.sign(good(c)) }, kibitz.GateBadSignature},
		"another issuer":    {func(c *client) string { return i.sign(with(good(c), "iss", "https://evil")) }, kibitz.GateBadSignature},
		"another client":    {func(c *client) string { return i.sign(with(good(c), "aud", "you")) }, kibitz.GateBadSignature},
		"another nonce":     {func(c *client) string { return i.sign(with(good(c), "nonce", "x")) }, kibitz.GateNotBound},
		"expired":           {func(c *client) string { return i.sign(with(good(c), "exp", now-31)) }, kibitz.GateExpired},
		"too old":           {func(c *client) string { return i.sign(with(good(c), "iat", now-3700)) }, kibitz.GateExpired},
		"unverified email":  {func(c *client) string { return i.sign(with(good(c), "email_verified", false)) }, kibitz.GateNotListed},
		"an unlisted email": {func(c *client) string { return i.sign(with(good(c), "email", "eve@example.org")) }, kibitz.GateNotListed},
	} {
		c := h.dial(id, "")
		if l := c.turnedAway(tc.code, obj{"jwt": tc.token(c)}); t.Failed() {
			t.Fatalf("%s: %+v; want not t.Failed()", name, l)
		}
	}
	ann := h.dial(id, "")
	ann.voice(obj{"jwt": i.sign(good(ann))})
	boss := h.dial(id, "")
	boss.voice(obj{"jwt": i.sign(with(good(boss), "email", "Boss@firm.example")), "name": "Boss"})
	if ann.self.Host || ann.self.Name != "Ann A" || boss.self.Tier != kibitz.TierEmail {
		t.Errorf("%+v %+v; want not ann.self.Host, ann.self.Name to be \"Ann A\", boss.self.Tier to be %v", ann.self, boss.self, kibitz.TierEmail)
	}
	boss.ok(obj{"t": "mod", "op": "kick", "target": ann.self.ID})
	again := h.dial(id, "")
	again.turnedAway(kibitz.Kicked, obj{"jwt": i.sign(good(again))})
}

//go:build ignore

// This program writes testdata/vectors.json. It makes keys, signatures and
// hashes by hand and not with the package they are a test of. Each run makes
// new RSA keys, so it is run only to add a case.
//
//	go run vectors_gen.go
package main

import (
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"log"
	"math/big"
	"os"
	"strings"
)

type m = map[string]any

const (
	now  = 1800000000
	room = "reading-circle"
)

var (
	b64     = base64.RawURLEncoding.EncodeToString
	fp      = strings.TrimSuffix(strings.Repeat("0a:1b:2c:3d:", 8), ":")
	creator = key("creator")
	agent   = key("agent")
	other   = key("other")
	host    = key("host")
)

func main() {
	out := m{
		"now": now, "room": room, "fingerprint": fp,
		"keys":               m{"creator": jwk(creator), "agent": jwk(agent), "other": jwk(other), "host": jwk(host), "agentPrivate": private(agent)},
		"thumbprints":        m{"creator": thumb(creator), "agent": thumb(agent), "other": thumb(other), "host": thumb(host)},
		"channelFingerprint": []m{channel("http://127.0.0.1:7788", room, "bm9uY2U"), channel("https://[::1]:8443", "a", "x")},
		"nonce":              m{"fp": strings.ToUpper(fp), "salt": room, "expect": hash(fp + "|" + room)},
		"hashedMember":       []m{{"email": "\tＦred@Example.ORG ", "room": room, "expect": hash("fred@example.org|" + room)}},
		"manifest": m{
			"token": sign(creator, m{
				"members": []string{}, "mode": "invite", "room": room, "exp": now + 60, "ver": 3,
				"agentKeys": []m{{"key": m{"kty": "oct"}}, {"key": jwk(other)}, {"key": jwk(agent), "label": "scribe", "caps": m{"perceive": []string{"read-chat", "send-chat"}, "act": []string{"act"}}}},
			}),
			"expectLabel": "scribe", "expectGrant": m{"perceive": []string{"read-chat"}, "act": []string{"act"}},
		},
		"assertions":  assertions(),
		"invite":      m{"token": sign(creator, m{"name": "Zoë", "room": room, "exp": now + 1}), "expect": m{"name": "Zoë"}},
		"hostCommand": m{"token": sign(host, m{"k": "kbz-host-cmd.v1", "room": room, "fp": fp, "op": "ban", "target": "p9", "iat": now - 120}), "expect": m{"op": "ban", "target": "p9"}},
		"credit":      credits(),
		"seal":        []m{box("chat", "", "", `{"text":"hello"}`), box("app", "act", "p2", `{"data":{"__kib_agent":"act","action":7}}`)},
	}
	data, err := json.MarshalIndent(out, "", " ")
	check(err)
	check(os.WriteFile("testdata/vectors.json", append(data, '\n'), 0o644))
}

func assertions() m {
	claims := func(change m) m {
		c := m{"k": "kbz-agent-key.v1", "room": room, "fp": fp, "iat": now}
		for k, v := range change {
			c[k] = v
			if v == nil {
				delete(c, k)
			}
		}
		return c
	}
	good := sign(agent, claims(nil))
	body, sig, _ := strings.Cut(good, ".")
	list := sign(agent, []int{1})
	out := m{}
	add := func(name, expect, token string) { out[name] = m{"expect": expect, "token": token} }
	by := func(name, expect string, change m) { add(name, expect, sign(agent, claims(change))) }
	add("good", "ok", good)
	by("otherSpelling", "ok", m{"fp": " " + strings.ToUpper(fp) + "\n"})
	by("future60", "ok", m{"iat": now + 60})
	by("stale300", "ok", m{"iat": now - 300})
	by("future61", "assertion from the future", m{"iat": now + 61})
	by("stale301", "stale assertion", m{"iat": now - 301})
	by("noIat", "no iat", m{"iat": nil})
	by("textIat", "no iat", m{"iat": "1800000000"})
	by("command", "wrong assertion kind", m{"k": "kbz-host-cmd.v1"})
	by("otherRoom", "wrong room", m{"room": "reading"})
	by("otherConnection", "not cert-bound to this connection", m{"fp": "00:11"})
	by("noFingerprint", "not cert-bound to this connection", m{"fp": nil})
	by("separatorsCount", "not cert-bound to this connection", m{"fp": strings.ReplaceAll(fp, ":", "")})
	by("everythingWrong", "wrong assertion kind", m{"k": 1, "room": 2, "fp": 3, "iat": nil})
	add("stranger", "no matching allowed key", sign(key("stranger"), claims(nil)))
	add("otherBody", "no matching allowed key", b64([]byte(`{"k":"kbz-agent-key.v1"}`))+"."+sig)
	add("der", "no matching allowed key", body+"."+b64(der(agent, body)))
	add("padded", "no matching allowed key", good+"==")
	add("threeParts", "no matching allowed key", good+"."+sig)
	add("noSignature", "no matching allowed key", body+".")
	add("noBody", "no matching allowed key", "."+sig)
	add("lineBreak", "no matching allowed key", good+"\n")
	add("notAnObject", "no matching allowed key", list)
	add("tooLong", "no matching allowed key", sign(agent, claims(m{"pad": strings.Repeat("x", 2048)})))
	return out
}

func credits() m {
	k1, k2, foreign, weak := rsaKey(2048), rsaKey(2048), rsaKey(2048), rsaKey(1024)
	out := m{}
	add := func(name, expect string, k *rsa.PrivateKey, header, change m) {
		h := m{"alg": "RS256", "typ": "JWT", "kid": "one"}
		c := m{"iss": "https://mint.example", "sub": "bot-7", "room": room, "iat": now - 1, "nbf": now - 1, "exp": now + 60, "k": "seat.v1"}
		for to, from := range map[*m]m{&h: header, &c: change} {
			for name, v := range from {
				(*to)[name] = v
				if v == nil {
					delete(*to, name)
				}
			}
		}
		out[name] = m{"expect": expect, "token": jws(k, h, c)}
	}
	add("good", "ok", k1, nil, nil)
	add("noTyp", "ok", k1, m{"typ": nil}, nil)
	add("noKid", "ok", k2, m{"kid": nil}, nil)
	add("noRoom", "ok", k1, nil, m{"room": nil})
	add("lastSecond", "ok", k1, nil, m{"exp": now - 59})
	add("earlyBy60", "ok", k1, nil, m{"nbf": now + 60, "iat": now + 60})
	add("none", "unsupported alg none", k1, m{"alg": "none"}, nil)
	add("hs256", "unsupported alg HS256", k1, m{"alg": "HS256"}, nil)
	add("at+jwt", "unexpected typ at+jwt", k1, m{"typ": "at+jwt"}, nil)
	add("critical", "malformed credential", k1, m{"crit": []string{"x"}}, nil)
	add("kidUnknown", "no key for kid zero", k1, m{"kid": "zero"}, nil)
	add("kidForEncryption", "no key for kid enc", k2, m{"kid": "enc"}, nil)
	add("kidOtherAlg", "no key for kid ps", k2, m{"kid": "ps"}, nil)
	add("kidWeak", "no key for kid weak", weak, m{"kid": "weak"}, nil)
	add("kidOfOther", "bad signature", k2, nil, nil)
	add("foreign", "bad signature", foreign, m{"kid": nil}, nil)
	add("issuer", "bad iss https://other.example", k1, nil, m{"iss": "https://other.example"})
	add("kind", "wrong kind", k1, nil, m{"k": "seat.v2"})
	add("expired60", "expired", k1, nil, m{"exp": now - 60})
	add("noExp", "expired", k1, nil, m{"exp": nil})
	add("nbf61", "not yet valid", k1, nil, m{"nbf": now + 61})
	add("iat61", "issued in the future", k1, nil, m{"iat": now + 61})
	add("noSub", "no sub", k1, nil, m{"sub": nil})
	add("otherRoom", "wrong room", k1, nil, m{"room": "elsewhere"})
	good := out["good"].(m)["token"].(string)
	for name, token := range map[string]string{"empty": "", "twoParts": good[:strings.LastIndex(good, ".")], "fourParts": good + ".x", "listHeader": b64([]byte("[]")) + good[strings.Index(good, "."):]} {
		out[name] = m{"expect": "malformed credential", "token": token}
	}
	out["noSignature"] = m{"expect": "bad signature", "token": good[:strings.LastIndex(good, ".")+1]}
	with := func(k *rsa.PrivateKey, kid string, more m) m {
		j := m{"kty": "RSA", "kid": kid, "n": b64(k.N.Bytes()), "e": "AQAB"}
		for name, v := range more {
			j[name] = v
		}
		return j
	}
	return m{"issuer": "https://mint.example", "kind": "seat.v1", "cases": out, "jwks": m{"keys": []m{
		{"kty": "EC"}, with(k1, "one", m{"use": "sig", "alg": "RS256"}), with(k2, "two", nil),
		with(k2, "enc", m{"use": "enc"}), with(k2, "ps", m{"alg": "PS256"}), with(weak, "weak", nil),
	}}}
}

// box seals by the book: extract and expand with HMAC, then AES-GCM.
func box(k, e, to, plain string) m {
	secret, nonce := sha256.Sum256([]byte("parley test vector, not a secret: room link")), []byte("twelve bytes")
	extract := hmac.New(sha256.New, []byte(room))
	extract.Write(secret[:])
	expand := hmac.New(sha256.New, extract.Sum(nil))
	expand.Write([]byte("parley-room-seal.v1\x01"))
	block, err := aes.NewCipher(expand.Sum(nil))
	check(err)
	gcm, err := cipher.NewGCM(block)
	check(err)
	sealed := gcm.Seal(nil, nonce, []byte(plain), []byte(k+"|"+e+"|"+to))
	return m{"secret": b64(secret[:]), "k": k, "e": e, "to": to, "plain": plain, "box": b64(append(nonce, sealed...))}
}

func key(name string) *ecdsa.PrivateKey {
	seed := sha256.Sum256([]byte("parley test vector, not a secret: room key of " + name))
	k, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), seed[:])
	check(err)
	return k
}

func jwk(k *ecdsa.PrivateKey) m {
	p, err := k.PublicKey.Bytes()
	check(err)
	return m{"kty": "EC", "crv": "P-256", "x": b64(p[1:33]), "y": b64(p[33:]), "ext": true, "key_ops": []string{"verify"}}
}

func private(k *ecdsa.PrivateKey) m {
	j := jwk(k)
	d, err := k.Bytes()
	check(err)
	j["d"], j["key_ops"] = b64(d), []string{"sign"}
	return j
}

func thumb(k *ecdsa.PrivateKey) string {
	j := jwk(k)
	return hash(`{"crv":"P-256","kty":"EC","x":"` + j["x"].(string) + `","y":"` + j["y"].(string) + `"}`)
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return b64(sum[:])
}

func channel(origin, room, nonce string) m {
	sum := sha256.Sum256([]byte("kbz-ws.v1|" + origin + "|" + room + "|" + nonce))
	var parts []string
	for _, c := range sum {
		parts = append(parts, hex.EncodeToString([]byte{c}))
	}
	return m{"origin": origin, "room": room, "nonce": nonce, "expect": strings.Join(parts, ":")}
}

func der(k *ecdsa.PrivateKey, body string) []byte {
	sum := sha256.Sum256([]byte(body))
	sig, err := k.Sign(nil, sum[:], crypto.SHA256)
	check(err)
	return sig
}

func sign(k *ecdsa.PrivateKey, claims any) string {
	data, err := json.Marshal(claims)
	check(err)
	body := b64(data)
	var rs struct{ R, S *big.Int }
	_, err = asn1.Unmarshal(der(k, body), &rs)
	check(err)
	raw := append(rs.R.FillBytes(make([]byte, 32)), rs.S.FillBytes(make([]byte, 32))...)
	return body + "." + b64(raw)
}

func rsaKey(bits int) *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, bits)
	check(err)
	return k
}

func jws(k *rsa.PrivateKey, header, claims m) string {
	h, err := json.Marshal(header)
	check(err)
	c, err := json.Marshal(claims)
	check(err)
	text := b64(h) + "." + b64(c)
	sum := sha256.Sum256([]byte(text))
	sig, err := rsa.SignPKCS1v15(nil, k, crypto.SHA256, sum[:])
	check(err)
	return text + "." + b64(sig)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

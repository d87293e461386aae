package identity_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"testing"

	"parley/internal/identity"
	"parley/internal/store"
	"parley/internal/store/storetest"
)

// authenticator is a passkey device in software: one key, attestation "none".
type authenticator struct {
	key   *ecdsa.PrivateKey
	id    []byte
	user  []byte
	count uint32
	// origin is what the browser around it says it is on.
	origin string
}

func newAuthenticator(t *testing.T) *authenticator {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	id := make([]byte, 16)
	_, _ = rand.Read(id)
	return &authenticator{key: key, id: id, origin: "https://hub.example"}
}

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// cborBytes is a CBOR byte string; the maps below are written out by hand.
func cborBytes(b []byte) []byte {
	return append([]byte{0x59, byte(len(b) >> 8), byte(len(b))}, b...)
}

func cborText(s string) []byte { return append([]byte{0x60 + byte(len(s))}, s...) }

// cose is the public key as WebAuthn writes it: {1: 2, 3: -7, -1: 1, -2: x, -3: y}.
func (a *authenticator) cose(t *testing.T) []byte {
	t.Helper()
	point, err := a.key.PublicKey.Bytes() // 4 ‖ x ‖ y
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Join([][]byte{{0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21}, append([]byte{0x58, 32}, point[1:33]...), {0x22}, append([]byte{0x58, 32}, point[33:65]...)}, nil)
}

// data is the authenticator data: present and verified, with the key if attested.
func (a *authenticator) data(attested []byte) []byte {
	hash := sha256.Sum256([]byte("hub.example"))
	flags := byte(0x05)
	if attested != nil {
		flags |= 0x40
	}
	return bytes.Join([][]byte{hash[:], {flags}, binary.BigEndian.AppendUint32(nil, a.count), attested}, nil)
}

func (a *authenticator) client(kind, challenge string) []byte {
	data, _ := json.Marshal(map[string]any{"type": kind, "challenge": challenge, "origin": a.origin, "crossOrigin": false})
	return data
}

// options is the part of a ceremony's options that an authenticator needs.
func options(t *testing.T, c identity.Ceremony) (challenge string, user []byte) {
	t.Helper()
	var o struct {
		PublicKey struct {
			Challenge string
			User      struct{ ID string }
		} `json:"publicKey"`
	}
	if err := json.Unmarshal(c.Options, &o); err != nil {
		t.Fatal(err)
	}
	user, _ = base64.RawURLEncoding.DecodeString(o.PublicKey.User.ID)
	return o.PublicKey.Challenge, user
}

func (a *authenticator) create(t *testing.T, c identity.Ceremony) []byte {
	t.Helper()
	challenge, user := options(t, c)
	a.user = user
	attested := bytes.Join([][]byte{make([]byte, 16), {0, byte(len(a.id))}, a.id, a.cose(t)}, nil)
	object := bytes.Join([][]byte{{0xa3}, cborText("fmt"), cborText("none"), cborText("attStmt"), {0xa0}, cborText("authData"), cborBytes(a.data(attested))}, nil)
	return a.response(t, map[string]any{"clientDataJSON": b64(a.client("webauthn.create", challenge)), "attestationObject": b64(object)})
}

func (a *authenticator) get(t *testing.T, c identity.Ceremony) []byte {
	t.Helper()
	challenge, _ := options(t, c)
	a.count++
	data, client := a.data(nil), a.client("webauthn.get", challenge)
	hash := sha256.Sum256(client)
	digest := sha256.Sum256(append(bytes.Clone(data), hash[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, a.key, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	return a.response(t, map[string]any{"clientDataJSON": b64(client), "authenticatorData": b64(data), "signature": b64(signature), "userHandle": b64(a.user)})
}

func (a *authenticator) response(t *testing.T, inner map[string]any) []byte {
	t.Helper()
	data, err := json.Marshal(map[string]any{"id": b64(a.id), "rawId": b64(a.id), "type": "public-key", "response": inner, "clientExtensionResults": map[string]any{}})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func newPasskeys(t *testing.T, w *world) *identity.Passkeys {
	t.Helper()
	p, err := identity.NewPasskeys(w.Directory, identity.RelyingParty{ID: "hub.example", Name: "Parley", Origins: []string{"https://hub.example"}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func register(t *testing.T, keys *identity.Passkeys, by identity.Actor, a *authenticator) identity.Passkey {
	t.Helper()
	c, err := keys.BeginRegister(t.Context(), by)
	if err != nil {
		t.Fatal(err)
	}
	key, err := keys.FinishRegister(t.Context(), by, c.ID, "laptop", a.create(t, c))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestAPasskeyLogsItsPersonIn(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		keys := newPasskeys(t, w)
		alice := w.mustAuthenticate(t, w.token(t, w.owner, identity.TokenRequest{Principal: "alice", Scopes: []string{"task", "device"}}).Secret)
		device := newAuthenticator(t)
		key := register(t, keys, alice, device)
		for range 2 {
			c, err := keys.BeginLogin(ctx)
			if err != nil {
				t.Fatal(err)
			}
			login, err := keys.FinishLogin(ctx, c.ID, device.get(t, c), "browser", "10.0.0.1")
			if err != nil {
				t.Fatal(err)
			}
			who, err := w.AuthenticatePage(ctx, login.Cookie)
			if err != nil || who.Person != alice.Person || !who.Scopes.Equal(alice.Scopes) {
				t.Errorf("%+v, %v", who, err)
			}
		}
		listed, err := keys.List(ctx, alice)
		if err != nil || len(listed) != 1 || listed[0].Name != "laptop" || listed[0].LastUsed.IsZero() {
			t.Errorf("%+v, %v", listed, err)
		}
		bob := w.mustAuthenticate(t, w.token(t, w.owner, identity.TokenRequest{Principal: "bob"}).Secret)
		if err := keys.Remove(ctx, bob, key.ID); !errors.Is(err, identity.ErrNotFound) {
			t.Errorf("bob removes alice's: %v", err)
		}
		if err := keys.Remove(ctx, alice, key.ID); err != nil {
			t.Fatal(err)
		}
		c, err := keys.BeginLogin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		_, err = keys.FinishLogin(ctx, c.ID, device.get(t, c), "", "")
		wantReason(t, err, identity.Unknown)
	})
}

func TestBadPasskeysAreRefused(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t))
	keys, ctx := newPasskeys(t, w), t.Context()
	device := newAuthenticator(t)
	register(t, keys, w.owner, device)
	begin := func() identity.Ceremony {
		c, err := keys.BeginLogin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	login := func(c identity.Ceremony, response []byte) error {
		_, err := keys.FinishLogin(ctx, c.ID, response, "", "")
		return err
	}
	one, two := begin(), begin()
	wantReason(t, login(one, device.get(t, two)), identity.BadPasskey)
	wantReason(t, login(one, device.get(t, one)), identity.Unknown) // a challenge is answered once
	wantReason(t, login(begin(), []byte("{}")), identity.BadPasskey)

	device.origin = "https://evil.example"
	c := begin()
	wantReason(t, login(c, device.get(t, c)), identity.BadPasskey)
	device.origin = "https://hub.example"

	c = begin()
	if err := login(c, device.get(t, c)); err != nil {
		t.Fatal(err)
	}
	device.count = 0
	c = begin()
	wantReason(t, login(c, device.get(t, c)), identity.ClonedPasskey)

	impostor := newAuthenticator(t)
	impostor.id, impostor.user, impostor.count = device.id, device.user, 100
	c = begin()
	wantReason(t, login(c, impostor.get(t, c)), identity.BadPasskey)

	if _, err := keys.BeginRegister(ctx, identity.Actor{}); !errors.Is(err, identity.ErrForbidden) {
		t.Errorf("nobody registers: %v", err)
	}
	again, err := keys.BeginRegister(ctx, w.owner)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = keys.FinishRegister(ctx, identity.Actor{}, again.ID, "", newAuthenticator(t).create(t, again)); !errors.Is(err, identity.ErrForbidden) {
		t.Errorf("nobody finishes what the owner began: %v", err)
	}
	bob := w.mustAuthenticate(t, w.token(t, w.owner, identity.TokenRequest{Principal: "bob"}).Secret)
	_, err = keys.FinishRegister(ctx, bob, again.ID, "", newAuthenticator(t).create(t, again))
	wantReason(t, err, identity.Unknown)
}

func TestWhatEndedLongAgoIsForgotten(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newWorld(t, db)
		link, err := w.CreateLink(t.Context(), w.owner, identity.LinkRequest{})
		if err != nil {
			t.Fatal(err)
		}
		exec(t, db, `UPDATE login_links SET expires_at = 1`)
		if err := identity.Purge(t.Context(), w.Directory); err != nil {
			t.Fatal(err)
		}
		_, err = w.RedeemLink(t.Context(), link.Secret, "", "")
		wantReason(t, err, identity.Unknown)
		w.mustAuthenticate(t, w.secret)
	})
}

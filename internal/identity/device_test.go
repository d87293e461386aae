package identity_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley.internal/internal/identity"
	"parley.internal/internal/limit"
	"parley.internal/internal/store/storetest"
)

func newKey(t testing.TB) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func public(key ed25519.PrivateKey) ed25519.PublicKey { return key.Public().(ed25519.PublicKey) }

func TestPairingPinsADeviceAndSpendsTheToken(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		pairing := w.token(t, w.owner, identity.TokenRequest{Pairing: true, Scopes: []string{"task:read"}, TTL: time.Hour})
		if left := time.Until(pairing.Expires); left > identity.PairingLife {
			t.Errorf("lives %v", left)
		}
		if who := w.mustAuthenticate(t, pairing.Secret); who.Credential != identity.TokenPairing || !who.Scopes.Empty() {
			t.Errorf("a pairing token allows %v", who.Scopes)
		}
		key := newKey(t)
		paired, err := w.Pair(ctx, identity.PairRequest{Secret: pairing.Secret, PublicKey: public(key), Name: "phone"})
		if err != nil {
			t.Fatal(err)
		}
		who := w.mustAuthenticate(t, paired.Token.Secret)
		if who.Device != identity.DeviceID(public(key)) || who.Credential != identity.TokenDevice || who.Scopes.String() != "task:read" {
			t.Errorf("session %+v", who)
		}
		dev, err := w.Device(ctx, who.Device)
		if err != nil || !dev.PublicKey.Equal(public(key)) || dev.Name != "phone" {
			t.Errorf("device %+v, %v", dev, err)
		}
		_, err = w.Pair(ctx, identity.PairRequest{Secret: pairing.Secret, PublicKey: public(newKey(t))})
		wantReason(t, err, identity.Used)
		_, err = w.Authenticate(ctx, pairing.Secret)
		wantReason(t, err, identity.Used)
		if _, err := w.Pair(ctx, identity.PairRequest{Secret: w.secret, PublicKey: public(newKey(t))}); !errors.Is(err, identity.ErrInvalid) {
			t.Errorf("pairing with an operator token: %v", err)
		}
		if err := w.RevokeDevice(ctx, w.owner, who.Device); err != nil {
			t.Fatal(err)
		}
		_, err = w.Authenticate(ctx, paired.Token.Secret)
		wantReason(t, err, identity.Revoked)
		if devices, err := w.Devices(ctx, w.owner); err != nil || len(devices) != 0 {
			t.Errorf("devices %v, %v", devices, err)
		}
	})
}

func TestAPairingTokenIsSpentOnceAlsoInARace(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		pairing := w.token(t, w.owner, identity.TokenRequest{Pairing: true})
		secrets := []string{pairing.Secret, pairing.Code}
		var group sync.WaitGroup
		results := make([]error, 8)
		for i := range results {
			key := newKey(t)
			group.Go(func() {
				_, results[i] = w.Pair(t.Context(), identity.PairRequest{Secret: secrets[i%2], PublicKey: public(key), Address: fmt.Sprint("10.0.0.", i)})
			})
		}
		group.Wait()
		won := 0
		for _, err := range results {
			if err == nil {
				won++
			} else {
				wantReason(t, err, identity.Used)
			}
		}
		if won != 1 {
			t.Errorf("%d devices paired", won)
		}
	})
}

func TestARePairedDeviceHasOneToken(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		key := newKey(t)
		var secrets []string
		for range 2 {
			pairing := w.token(t, w.owner, identity.TokenRequest{Pairing: true})
			paired, err := w.Pair(t.Context(), identity.PairRequest{Secret: pairing.Secret, PublicKey: public(key)})
			if err != nil {
				t.Fatal(err)
			}
			secrets = append(secrets, paired.Token.Secret)
		}
		_, err := w.Authenticate(t.Context(), secrets[0])
		wantReason(t, err, identity.Revoked)
		w.mustAuthenticate(t, secrets[1])
		theirs := w.token(t, w.owner, identity.TokenRequest{Pairing: true, Principal: "alice"})
		if _, err := w.Pair(t.Context(), identity.PairRequest{Secret: theirs.Secret, PublicKey: public(key)}); !errors.Is(err, identity.ErrDeviceTaken) {
			t.Errorf("somebody else's device: %v", err)
		}
		if _, err := w.Pair(t.Context(), identity.PairRequest{Secret: theirs.Secret, PublicKey: public(newKey(t))}); err != nil {
			t.Errorf("a refused pairing spent the token: %v", err)
		}
	})
}

func TestPairingCodesForgiveTypingAndAreThrottled(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t))
	pairing := w.token(t, w.owner, identity.TokenRequest{Pairing: true})
	if !regexp.MustCompile(`^[A-HJ-NP-Z2-9]{4}-[A-HJ-NP-Z2-9]{4}$`).MatchString(pairing.Code) {
		t.Fatalf("code %q", pairing.Code)
	}
	guess := func(code, address string) error {
		_, err := w.Pair(t.Context(), identity.PairRequest{Secret: code, PublicKey: public(newKey(t)), Address: address})
		return err
	}
	for range 5 {
		wantReason(t, guess("AAAA-AAAA", "10.1.1.1"), identity.Unknown)
	}
	var throttled *limit.Error
	if err := guess(pairing.Code, "10.1.1.1"); !errors.As(err, &throttled) || !throttled.Locked || throttled.RetryAfter <= 0 {
		t.Errorf("after five wrong codes: %v", err)
	}
	if err := guess(" "+strings.ToLower(strings.ReplaceAll(pairing.Code, "-", "")), "10.1.1.2"); err != nil {
		t.Errorf("typed carelessly: %v", err)
	}
}

func TestADeviceTokenLivesFromUseToUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorldWith(t, storetest.SQLite(t), patient)
		pairing := w.token(t, w.owner, identity.TokenRequest{Pairing: true})
		paired, err := w.Pair(t.Context(), identity.PairRequest{Secret: pairing.Secret, PublicKey: public(newKey(t))})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			<-time.After(29 * 24 * time.Hour)
			if who := w.mustAuthenticate(t, paired.Token.Secret); !who.Expires.Equal(time.Now().Add(identity.DeviceLife)) {
				t.Errorf("expires %v", who.Expires)
			}
		}
		if dev, err := w.Device(t.Context(), paired.Device.ID); err != nil || time.Since(dev.LastSeen) > 30*24*time.Hour {
			t.Errorf("last seen %v, %v", dev.LastSeen, err)
		}
		<-time.After(identity.DeviceLife)
		_, err = w.Authenticate(t.Context(), paired.Token.Secret)
		wantReason(t, err, identity.Expired)
	})
}

func TestAnUnusedPairingTokenExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorldWith(t, storetest.SQLite(t), patient)
		used, unused := w.token(t, w.owner, identity.TokenRequest{Pairing: true}), w.token(t, w.owner, identity.TokenRequest{Pairing: true})
		<-time.After(14*time.Minute + 59*time.Second)
		if _, err := w.Pair(t.Context(), identity.PairRequest{Secret: used.Secret, PublicKey: public(newKey(t))}); err != nil {
			t.Errorf("a code used within its fifteen minutes: %v", err)
		}
		<-time.After(time.Second)
		_, err := w.Pair(t.Context(), identity.PairRequest{Secret: unused.Secret, PublicKey: public(newKey(t))})
		wantReason(t, err, identity.Expired)
	})
}

func TestTheSignedTextHasSixLines(t *testing.T) {
	text, err := identity.Challenge{Nonce: "n", DeviceID: "d", Role: "operator", Scopes: []string{"task:read", "*"}, Token: "abc"}.Text()
	want := "viber-auth-v1\nn\nd\noperator\n*,task:read\nba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	if err != nil || text != want {
		t.Errorf("%q, %v; want no error, %v", text, err, want)
	}
	text, err = identity.Challenge{Nonce: "n", DeviceID: "d", Role: "node"}.Text()
	if err != nil || text != "viber-auth-v1\nn\nd\nnode\n\n" {
		t.Errorf("%q, %v; want no error, \"viber-auth-v1\\nn\\nd\\nnode\\n\\n\"", text, err)
	}
	if _, err := (identity.Challenge{Nonce: "n\nx"}).Text(); !errors.Is(err, identity.ErrInvalid) {
		t.Errorf("a newline: %v", err)
	}
}

func TestAChallengeIsAnsweredByTheRightKeyOnly(t *testing.T) {
	key := newKey(t)
	base := identity.Challenge{Nonce: "n", DeviceID: identity.DeviceID(public(key)), Role: "operator", Scopes: []string{"b", "a"}, Token: "t"}
	response, err := base.Sign(key)
	if err != nil {
		t.Fatal(err)
	}
	if err := base.Verify(public(key), response); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*identity.Challenge){
		"nonce":  func(c *identity.Challenge) { c.Nonce = "other" },
		"role":   func(c *identity.Challenge) { c.Role = "node" },
		"scopes": func(c *identity.Challenge) { c.Scopes = []string{"a", "b", "c"} },
		"token":  func(c *identity.Challenge) { c.Token = "" },
	} {
		c := base
		change(&c)
		if err := c.Verify(public(key), response); identity.ReasonOf(err) != identity.BadSignature {
			t.Errorf("%s changed: %v", name, err)
		}
	}
	wantReason(t, base.Verify(public(newKey(t)), response), identity.DeviceMismatch)
	wantReason(t, base.Verify(nil, response), identity.DeviceMismatch)
	wantReason(t, base.Verify(public(key), strings.Replace(response, "ed25519.", "rsa.", 1)), identity.BadSignature)
	wantReason(t, base.Verify(public(key), "ed25519.%%%"), identity.BadSignature)
	reordered := base
	reordered.Scopes = []string{"a", "b"}
	if err := reordered.Verify(public(key), response); err != nil {
		t.Errorf("the order of scopes does not matter: %v", err)
	}
}

func FuzzAChallengeResponse(f *testing.F) {
	key := newKey(f)
	c := identity.Challenge{Nonce: "n", DeviceID: identity.DeviceID(public(key)), Role: "operator"}
	good, _ := c.Sign(key)
	f.Add(good)
	f.Add("ed25519.")
	f.Add("")
	signature := strings.TrimPrefix(good, "ed25519.")
	f.Fuzz(func(t *testing.T, response string) {
		err := c.Verify(public(key), response)
		raw, bad := base64.RawURLEncoding.DecodeString(strings.TrimRight(strings.TrimPrefix(response, "ed25519."), "="))
		if err == nil && (bad != nil || base64.RawURLEncoding.EncodeToString(raw) != signature) {
			t.Errorf("%q was accepted", response)
		}
	})
}

func FuzzSecretsAndKeysAreRefusedCleanly(f *testing.F) {
	f.Add("prl_" + strings.Repeat("A", 43))
	f.Add("ABCD-EFGH")
	f.Fuzz(func(t *testing.T, s string) {
		if identity.TokenForm(s) && (len(s) != 47 || identity.CodeForm(s)) {
			t.Errorf("%q has two forms", s)
		}
		if key, err := identity.ParsePublicKey(s); err == nil && len(key) != ed25519.PublicKeySize {
			t.Errorf("%q gives a key of %d bytes", s, len(key))
		}
	})
}

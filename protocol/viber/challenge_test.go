package viber_test

import (
	"crypto/ed25519"
	"errors"
	"testing"

	"parley.internal/protocol/viber"
)

func testKey() ed25519.PrivateKey {
	seed := make([]byte, ed25519.SeedSize)
	for i := range seed {
		seed[i] = byte(i)
	}
	return ed25519.NewKeyFromSeed(seed)
}

func TestChallengeIsSixLines(t *testing.T) {
	c := viber.Challenge{Nonce: "n", DeviceID: "d", Role: viber.RoleOperator, Scopes: []string{"task:read", "*"}, Token: "abc"}
	want := "viber-auth-v1\nn\nd\noperator\n*,task:read\nba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	if text, err := c.Text(); err != nil || text != want {
		t.Errorf("%q, %v; want no error, %v", text, err, want)
	}
	if text, err := (viber.Challenge{Nonce: "n", DeviceID: "d", Role: viber.RoleNode}).Text(); err != nil || text != "viber-auth-v1\nn\nd\nnode\n\n" {
		t.Errorf("%q, %v; want no error, \"viber-auth-v1\\nn\\nd\\nnode\\n\\n\"", text, err)
	}
	c.Scopes = []string{"a\nb"}
	if _, err := c.Sign(testKey()); !errors.Is(err, viber.ErrBadField) {
		t.Error(err)
	}
}

func TestSignatureHoldsForExactlyWhatWasSigned(t *testing.T) {
	key := testKey()
	public := key.Public().(ed25519.PublicKey)
	good := viber.Challenge{Nonce: "n", DeviceID: viber.DeviceID(public), Role: viber.RoleOperator, Scopes: []string{"b", "a"}, Token: "t"}
	response, err := good.Sign(key)
	if err != nil {
		t.Fatal(err)
	}
	reordered := good
	reordered.Scopes = []string{"a", "b"}
	for _, c := range []viber.Challenge{good, reordered} {
		if err := c.Verify(public, response); err != nil {
			t.Error(err)
		}
	}
	if err := good.Verify(public, response+"=="); err != nil {
		t.Error("padding:", err)
	}
	change := func(f func(*viber.Challenge)) viber.Challenge { c := good; f(&c); return c }
	for name, c := range map[string]viber.Challenge{
		"nonce":  change(func(c *viber.Challenge) { c.Nonce = "m" }),
		"role":   change(func(c *viber.Challenge) { c.Role = viber.RoleNode }),
		"scopes": change(func(c *viber.Challenge) { c.Scopes = []string{"a"} }),
		"token":  change(func(c *viber.Challenge) { c.Token = "" }),
	} {
		if err := c.Verify(public, response); !errors.Is(err, viber.ErrBadSignature) {
			t.Errorf("another %s: %v", name, err)
		}
	}
	for _, r := range []string{"", "ed25519.", "ed25519.!", "rsa." + response[8:], response[8:]} {
		if err := good.Verify(public, r); !errors.Is(err, viber.ErrBadSignature) {
			t.Errorf("%q: %v; want viber.ErrBadSignature", r, err)
		}
	}
	other := change(func(c *viber.Challenge) { c.DeviceID = "laptop" })
	if err := other.Verify(public, response); !errors.Is(err, viber.ErrDeviceMismatch) {
		t.Error(err)
	}
	if err := good.Verify(nil, response); !errors.Is(err, viber.ErrDeviceMismatch) {
		t.Error(err)
	}
}

func TestPublicKeysTravelAsText(t *testing.T) {
	public := testKey().Public().(ed25519.PublicKey)
	text := viber.FormatPublicKey(public)
	if key, err := viber.ParsePublicKey(text); err != nil || !key.Equal(public) {
		t.Errorf("%v, %v; want no error, key.Equal(public)", key, err)
	}
	if viber.DeviceID(public) != "dev_56475aa75463474c0285df5dbf2bcab7" || text != "A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg" {
		t.Error(viber.DeviceID(public), text)
	}
	for _, bad := range []string{"", "AAAA", "!", text + "AAAA"} {
		if _, err := viber.ParsePublicKey(bad); !errors.Is(err, viber.ErrBadKey) {
			t.Errorf("%q: %v; want viber.ErrBadKey", bad, err)
		}
	}
	if len(viber.FormatNonce(make([]byte, viber.NonceSize))) != 43 {
		t.Error("a challenge has 43 characters")
	}
}

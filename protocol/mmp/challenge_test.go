package mmp

import (
	"crypto/ed25519"
	"errors"
	"testing"
	"time"
)

func TestAPlacesProofIsBoundToItsKeyItsAddressTheAgentAndNow(t *testing.T) {
	now := time.Date(2026, 1, 30, 12, 0, 0, 0, time.UTC)
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	good := ChallengeAnswer{Nonce: NewNonce(), ExpiresAt: At(now.Add(time.Minute)), Address: "place.example.org"}
	good.Sign(key, "ada")
	if err := good.Verify("ada", "place.example.org", now); err != nil {
		t.Fatalf("a place's own proof: %v", err)
	}
	for name, c := range map[string]struct {
		change func(*ChallengeAnswer)
		want   error
	}{
		"unsigned":        {func(a *ChallengeAnswer) { a.PlaceSignature = "" }, ErrPlaceUnproven},
		"another address": {func(a *ChallengeAnswer) { a.Address = "evil.example.org" }, ErrPlaceElsewhere},
		"another key": {func(a *ChallengeAnswer) {
			a.PlaceKey = FormatPeerKey(ed25519.NewKeyFromSeed([]byte("another seed of thirty-two bytes")).Public().(ed25519.PublicKey))
		}, ErrPlaceUnproven},
		"no key":        {func(a *ChallengeAnswer) { a.PlaceKey = "x" }, ErrPlaceUnproven},
		"another nonce": {func(a *ChallengeAnswer) { a.Nonce = NewNonce() }, ErrPlaceUnproven},
		"another time":  {func(a *ChallengeAnswer) { a.ExpiresAt = At(now) }, ErrPlaceUnproven},
		"a line break":  {func(a *ChallengeAnswer) { a.Nonce = "a\nb" }, ErrPlaceUnproven},
	} {
		bad := good
		c.change(&bad)
		if err := bad.Verify("ada", "place.example.org", now); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
	if err := good.Verify("eve", "place.example.org", now); !errors.Is(err, ErrPlaceUnproven) {
		t.Errorf("for another agent: %v", err)
	}
	for _, off := range []time.Duration{-12 * time.Minute, 12 * time.Minute} {
		if err := good.Verify("ada", "place.example.org", now.Add(off)); !errors.Is(err, ErrPlaceUnproven) {
			t.Errorf("with a clock that is %s off: got %v, want a refusal", off, err)
		}
	}
}

func TestAnAddressIsWrittenAlikeByBothSides(t *testing.T) {
	for in, want := range map[string]string{
		"Place.Example.ORG": "place.example.org", "place.example.org.": "place.example.org", "place.example.org:443": "place.example.org",
		"place.example.org:80": "place.example.org", "127.0.0.1:7788": "127.0.0.1:7788", "[::1]:443": "[::1]", "[::1]:7788": "[::1]:7788", "[fe80::80]": "[fe80::80]",
		"::443": "::443", "": "",
	} {
		if got := CalledAt(in); got != want {
			t.Errorf("%q is written %q, want %q", in, got, want)
		}
	}
}

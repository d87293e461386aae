package board

import (
	"crypto/ed25519"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"parley.internal/internal/identity"
	"parley.internal/protocol/viber"
)

// A signature somebody kept is worth nothing after five minutes.
func TestAChallengeIsGoodForFiveMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		public, private, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		c := &conn{nonce: "nonce", issued: time.Now()}
		a := &viber.Auth{DeviceID: identity.DeviceID(public), Role: "operator"}
		if a.ChallengeResponse, err = a.Challenge("nonce").Sign(private); err != nil {
			t.Fatal(err)
		}
		<-time.After(5 * time.Minute)
		if err := c.verify(a, "nonce", public, true); err != nil {
			t.Errorf("a signature given within five minutes: %v", err)
		}
		<-time.After(time.Second)
		var refused *refusal
		if err := c.verify(a, "nonce", public, true); !errors.As(err, &refused) || refused.reason != "challenge_expired" {
			t.Errorf("a signature given later: %v, want the reason challenge_expired", err)
		}
	})
}

package mmp

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"
)

// MaxProofSkew is how far a clock may be off in what is proven.
const MaxProofSkew = 10 * time.Minute

// What an agent may find wrong with a place before it proves anything there.
var (
	// ErrPlaceUnproven: the place does not show that it holds the key it names.
	ErrPlaceUnproven = errors.New("the place does not prove its key")
	// ErrPlaceElsewhere: the challenge was made by a place at another address.
	ErrPlaceElsewhere = errors.New("the challenge is another place's")
)

// ChallengeAnswer is a fresh nonce, with the place's own proof: it holds its key, and
// it was called at this address.
type ChallengeAnswer struct {
	Nonce          string `json:"nonce"`
	PlaceID        string `json:"place_id"`
	ExpiresAt      Time   `json:"expires_at"`
	PlaceKey       string `json:"place_key"`
	Address        string `json:"address"`
	PlaceSignature string `json:"place_signature"`
}

// For is what an agent signs to answer.
func (c ChallengeAnswer) For(agent string) Challenge {
	return Challenge{PlaceKey: c.PlaceKey, Address: c.Address, AgentID: agent, Nonce: c.Nonce}
}

func (c ChallengeAnswer) text(agent string) []byte {
	return SignedText("MMP-PLACE-1", c.PlaceKey, c.Address, agent, c.Nonce, Stamp(c.ExpiresAt.Time))
}

// Sign adds the place's proof.
func (c *ChallengeAnswer) Sign(k ed25519.PrivateKey, agent string) {
	c.PlaceKey = FormatPeerKey(k.Public().(ed25519.PublicKey))
	c.PlaceSignature = base64.StdEncoding.EncodeToString(ed25519.Sign(k, c.text(agent)))
}

// Verify checks that the place the agent called made this, just now, for this agent.
// Nothing may be signed for a place before it holds.
func (c ChallengeAnswer) Verify(agent, address string, now time.Time) error {
	if c.PlaceSignature == "" || !oneLine(c.PlaceKey, c.Address, c.Nonce) {
		return ErrPlaceUnproven
	}
	if c.Address != address {
		return fmt.Errorf("%w: it says it was called at %q, and not at %q", ErrPlaceElsewhere, Clip(c.Address, 80), address)
	}
	key, err := ParsePeerKey(c.PlaceKey)
	if err != nil {
		return ErrPlaceUnproven
	}
	sig, err := strictBase64(c.PlaceSignature)
	if err != nil || !ed25519.Verify(key, c.text(agent), sig) {
		return ErrPlaceUnproven
	}
	if c.ExpiresAt.Sub(now).Abs() > MaxProofSkew {
		return fmt.Errorf("%w: its challenge ends at %s, and it is %s", ErrPlaceUnproven, Stamp(c.ExpiresAt.Time), Stamp(now))
	}
	return nil
}

// CalledAt is a host, with its port unless that is a usual one, as both sides of a
// proof write it.
func CalledAt(host string) string {
	host = strings.ToLower(host)
	for _, usual := range []string{":80", ":443"} {
		if bare, ok := strings.CutSuffix(host, usual); ok && (strings.HasSuffix(bare, "]") || !strings.Contains(bare, ":")) {
			host = bare
		}
	}
	return strings.TrimSuffix(host, ".")
}

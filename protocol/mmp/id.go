package mmp

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"unicode"
)

// ValidID tells whether s can name an agent at one place. An id is a part of paths,
// where a dot and two have a meaning of their own.
func ValidID(s string) bool {
	if s == "" || s == "." || s == ".." || len(s) > MaxID {
		return false
	}
	for i := range len(s) {
		if !idByte(s[i]) {
			return false
		}
	}
	return true
}

func idByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("._:~+-", c) >= 0
}

// ValidName tells whether s can be shown as a name: nothing in it moves the cursor,
// breaks the line or turns the direction of what stands around it.
func ValidName(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(turning, r) }) < 0
}

var turning = &unicode.RangeTable{R16: []unicode.Range16{
	{Lo: 0x061C, Hi: 0x061C, Stride: 1},
	{Lo: 0x200E, Hi: 0x200F, Stride: 1},
	{Lo: 0x2028, Hi: 0x202E, Stride: 1},
	{Lo: 0x2066, Hi: 0x2069, Stride: 1},
	{Lo: 0xFEFF, Hi: 0xFEFF, Stride: 1},
}}

// ValidAddress is ValidID, optionally followed by one '@' and a place's name.
func ValidAddress(s string) bool {
	id, place, remote := strings.Cut(s, "@")
	return ValidID(id) && (!remote || ValidPlaceName(place))
}

// ValidPlaceName tells whether s can name a peered place: [a-z0-9-], at most 64.
func ValidPlaceName(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

// SplitAddress separates an id from its place; place is empty for a local one.
func SplitAddress(s string) (id, place string) {
	id, place, _ = strings.Cut(s, "@")
	return id, place
}

// ActAs settles for whom a request acts: an absent id is the token's, another id
// than the token's is refused. Without a token the given id stands.
func ActAs(given, token string) (string, error) {
	switch {
	case token == "" || given == token:
		return given, nil
	case given == "":
		return token, nil
	}
	return "", ErrNotYourAgent
}

// AgentPrefix and the others are the kinds of made ids and how many random bytes follow their prefix.
const (
	AgentPrefix   = "agent_"
	messagePrefix = "msg_"
	relayPrefix   = "relay_"
	postPrefix    = "post_"
	sessionPrefix = "session_"
)

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails: the runtime ends the program instead
	return hex.EncodeToString(b)
}

// NewAgentID names an agent that brought no id.
func NewAgentID() string { return AgentPrefix + randomHex(8) }

// NewMessageID names a message.
func NewMessageID() string { return messagePrefix + randomHex(8) }

// NewRelayID names a relayed message.
func NewRelayID() string { return relayPrefix + randomHex(8) }

// NewPostingID names a posting.
func NewPostingID() string { return postPrefix + randomHex(8) }

// NewSessionID names a direct session.
func NewSessionID() string { return sessionPrefix + randomHex(6) }

// NewToken makes a session token: 256 bits as 64 hex digits.
func NewToken() string { return randomHex(32) }

// NewNonce makes a challenge: 32 bytes, base64url.
func NewNonce() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// MayHave tells whether an agent of this id may come with the key when it is first
// met. An id that is a key's hash, whole or in the short form agents of ours use, is
// that key's; later on the key may name a successor.
func MayHave(id string, k *PublicKey) bool {
	form := strings.ToLower(id)
	bare := strings.TrimPrefix(form, hashPrefix)
	if !isHex(bare) || len(bare) != 64 && (len(bare) != 16 || bare != form) {
		return true
	}
	return id == k.InstanceID() || id == k.KeyID() || id == HashOf(k.der).Bare()
}

func isHex(s string) bool {
	return strings.Trim(s, "0123456789abcdef") == ""
}

// ActingAgent is [ActAs] for an id that must be there in the end.
func ActingAgent(field, given, token string) (string, error) {
	id, err := ActAs(given, token)
	if err == nil && id == "" {
		return "", Required(field)
	}
	return id, err
}

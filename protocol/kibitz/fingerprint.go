package kibitz

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/url"
	"strings"
)

// NormalFingerprint is the form fingerprints are compared in: trimmed, lower
// case, separators kept.
func NormalFingerprint(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

// ValidFingerprint tells whether s is a SHA-256 in colon-hex.
func ValidFingerprint(s string) bool {
	b, err := hex.DecodeString(strings.ReplaceAll(s, ":", ""))
	return err == nil && len(b) == sha256.Size && strings.EqualFold(colonHex(b), s)
}

// ChannelFingerprint is what an assertion over WebSocket is bound to: the
// origin the client dialled, the normalised room and the connection's nonce.
// The client takes the origin from its own URL, so that a rogue relay cannot
// pass a challenge on.
func ChannelFingerprint(origin, room, nonce string) string {
	sum := sha256.Sum256([]byte("kbz-ws.v1|" + origin + "|" + room + "|" + nonce))
	return colonHex(sum[:])
}

func colonHex(b []byte) string {
	var out strings.Builder
	for i, c := range b {
		if i > 0 {
			out.WriteByte(':')
		}
		out.WriteString(hex.EncodeToString([]byte{c}))
	}
	return out.String()
}

// OIDCNonce ties an ID token to a connection and a room.
func OIDCNonce(fingerprint, room string) string {
	sum := sha256.Sum256([]byte(NormalFingerprint(fingerprint) + "|" + room))
	return encodeBase64(sum[:])
}

// Origin is the origin of an http, https, ws or wss URL as it goes into a
// channel fingerprint: lower case, port only if it is not the default.
func Origin(rawURL string) (string, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return "", err
	}
	scheme, port := "http", "80"
	switch strings.ToLower(u.Scheme) {
	case "https", "wss":
		scheme, port = "https", "443"
	case "http", "ws":
	default:
		return "", errors.New("not a web address")
	}
	host := strings.ToLower(u.Hostname())
	if host == "" {
		return "", errors.New("an address without a host")
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if p := u.Port(); p != "" && p != port {
		host += ":" + p
	}
	return scheme + "://" + host, nil
}

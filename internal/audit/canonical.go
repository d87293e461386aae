package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// canonicalEntry is the object that is hashed. Its members are the format: a
// change here breaks every trail there is.
type canonicalEntry struct {
	Action   string          `json:"action"`
	Actor    string          `json:"actor"`
	At       int64           `json:"at"`
	Detail   json.RawMessage `json:"detail"`
	Digest   string          `json:"digest"`
	Duration int64           `json:"duration"`
	OnBehalf string          `json:"on_behalf_of"`
	Outcome  string          `json:"outcome"`
	Seq      int64           `json:"seq"`
	Target   string          `json:"target"`
}

// bytes is the canonical form.
func (c canonicalEntry) bytes() ([]byte, error) { return canonicalJSON(c) }

// link is the hash of the entry after prev.
func (c canonicalEntry) link(prev Hash) (Hash, error) {
	body, err := c.bytes()
	if err != nil {
		return Hash{}, err
	}
	h := sha256.New()
	h.Write(prev[:])
	h.Write(body)
	return Hash(h.Sum(nil)), nil
}

// prepare makes an entry fit to be kept: a time, an outcome, clean text and a
// canonical detail. The number comes later.
func (l *Chain) prepare(e Entry) (canonicalEntry, error) {
	if e.Action == "" {
		return canonicalEntry{}, fmt.Errorf("%w: an entry without an action", ErrInvalid)
	}
	if e.At.IsZero() {
		e.At = time.Now()
	}
	if e.Outcome == "" {
		e.Outcome = "ok"
	}
	// The last line of defence: a caller that writes a secret into the trail has a bug.
	secrets := l.opts.Mask.Now()
	clean := func(s string) string { return secrets.Text(storable(s)) }
	c := canonicalEntry{
		Action: clean(string(e.Action)), Actor: clean(e.Actor), At: e.At.UnixMicro(), Digest: clean(e.Digest), Duration: e.Duration.Microseconds(),
		OnBehalf: clean(e.OnBehalf), Outcome: clean(e.Outcome), Target: clean(e.Target), Detail: json.RawMessage("{}"),
	}
	if len(e.Detail) > 0 {
		detail, err := canonicalJSON(e.Detail)
		if err != nil {
			return canonicalEntry{}, fmt.Errorf("%w: detail of %s: %w", ErrInvalid, e.Action, err)
		}
		if shown := secrets.JSON(detail); !bytes.Equal(shown, detail) {
			// Names may have changed too, so the order is made anew.
			if detail, err = canonicalJSON(json.RawMessage(shown)); err != nil {
				return canonicalEntry{}, err
			}
		}
		c.Detail = detail
	}
	return c, nil
}

// canonicalJSON is v after RFC 8785.
func canonicalJSON(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	value := jsontext.Value(raw)
	// Duplicate names can only come from raw JSON inside v; they are kept.
	if err := value.Canonicalize(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return nil, err
	}
	return value, nil
}

// Digest is the SHA-256 of v's canonical JSON in hex: it stands in for arguments
// that must not be kept. Equal values have equal digests however they are spelled.
func Digest(v any) (string, error) {
	body, err := canonicalJSON(v)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:]), nil
}

// DigestText is the SHA-256 of text in hex.
func DigestText(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// storable makes text that both databases and JSON can hold.
func storable(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "\uFFFD")
	}
	return s
}

package mmp

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Reason says why a sealed message was refused.
type Reason string

// The reasons, in the order they are looked for.
const (
	ReasonTooLarge             Reason = "too_large"
	ReasonMalformed            Reason = "malformed_envelope"
	ReasonUnsupportedEnvelope  Reason = "unsupported_envelope"
	ReasonUnsupportedAlgorithm Reason = "unsupported_algorithm"
	ReasonNotForMe             Reason = "not_for_me"
	ReasonOtherKey             Reason = "sealed_for_another_key"
	ReasonSenderMismatch       Reason = "sender_mismatch"
	ReasonTypeMismatch         Reason = "type_mismatch"
	ReasonSenderKey            Reason = "sender_key_unknown"
	ReasonSignature            Reason = "bad_signature"
	ReasonNoKey                Reason = "no_private_key"
	ReasonUndecryptable        Reason = "undecryptable"
	ReasonTooOld               Reason = "too_old"
	ReasonFromFuture           Reason = "from_the_future"
	ReasonReplayed             Reason = "replayed"
)

// OpenError is why a blob was not opened.
type OpenError struct {
	Reason Reason
	Detail string
}

// Error is the reason, with a detail where one helps.
func (e *OpenError) Error() string {
	if e.Detail == "" {
		return "sealed message refused: " + string(e.Reason)
	}
	return "sealed message refused: " + string(e.Reason) + ": " + e.Detail
}

// ReasonOf finds the reason in an error; empty when there is none.
func ReasonOf(err error) Reason {
	if e, ok := errors.AsType[*OpenError](err); ok {
		return e.Reason
	}
	return ""
}

func refuse(r Reason, format string, args ...any) error {
	return &OpenError{Reason: r, Detail: fmt.Sprintf(format, args...)}
}

// Envelope is a blob taken apart, of either version; nothing is verified yet.
type Envelope struct {
	Version      int
	Algorithm    string
	Protected    []byte
	Enc          []byte
	EncryptedKey []byte
	IV           []byte
	AuthTag      []byte
	Ciphertext   []byte
	Signature    []byte
}

// strictBase64 takes the standard alphabet with padding and nothing else. The
// library's strict mode still skips line breaks, which would give one message
// many texts.
func strictBase64(s string) ([]byte, error) {
	if strings.ContainsAny(s, "\r\n") {
		return nil, base64.CorruptInputError(strings.IndexAny(s, "\r\n"))
	}
	return base64.StdEncoding.Strict().DecodeString(s)
}

// ParseEnvelope takes a blob apart. Only the version decides what it is.
func ParseEnvelope(blob string) (*Envelope, error) {
	if len(blob) > MaxBlob {
		return nil, refuse(ReasonTooLarge, "%d bytes", len(blob))
	}
	raw, err := strictBase64(blob)
	if err != nil {
		return nil, refuse(ReasonMalformed, "not base64")
	}
	members, err := splitObject(raw)
	if err != nil {
		return nil, refuse(ReasonMalformed, "not a JSON object")
	}
	o := &Object{members: members}
	env := &Envelope{}
	version, _ := members.get("version")
	switch string(version) {
	case "1":
		env.Version = 1
	case "2":
		env.Version = 2
	default:
		return nil, refuse(ReasonUnsupportedEnvelope, "version %s", Clip(version.String(), 20))
	}
	return env, env.read(o)
}

func (e *Envelope) read(o *Object) error {
	e.Algorithm = o.Text("algorithm", 64)
	for key, into := range map[string]*[]byte{
		"protected": &e.Protected, "enc": &e.Enc, "encrypted_key": &e.EncryptedKey, "iv": &e.IV,
		"auth_tag": &e.AuthTag, "ciphertext": &e.Ciphertext, "signature": &e.Signature,
	} {
		raw, err := strictBase64(o.Text(key, MaxBlob))
		if err != nil {
			return refuse(ReasonMalformed, "%s is not base64", key)
		}
		*into = raw
	}
	if o.err != nil {
		return refuse(ReasonMalformed, "%s", o.err)
	}
	return nil
}

// Plain makes the bytes to seal: a string as it is, anything else as compact JSON
// without HTML escaping.
func Plain(v any) ([]byte, error) {
	if s, ok := v.(string); ok {
		if !utf8.ValidString(s) {
			return nil, fmt.Errorf("the text is not UTF-8")
		}
		return []byte(s), nil
	}
	return Encode(v)
}

// Content is what was in a seal: JSON if it reads as JSON, else a text.
type Content struct {
	JSON Raw
	Text string
}

// ReadContent tells which. JSON beyond our bounds is a text.
func ReadContent(plain []byte) Content {
	if compact, err := Compact(plain); err == nil {
		return Content{JSON: compact}
	}
	return Content{Text: strings.ToValidUTF8(string(plain), "\uFFFD")}
}

func encodedLen(n int) int { return base64.StdEncoding.EncodedLen(n) }

// finish encodes an envelope and holds it to the relay's limit.
func finish(raw []byte, err error) (string, error) {
	if err != nil {
		return "", err
	}
	blob := base64.StdEncoding.EncodeToString(raw)
	if len(blob) > MaxBlob {
		return "", ErrPlainTooLarge
	}
	return blob, nil
}

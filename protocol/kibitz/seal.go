package kibitz

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
	"slices"
)

// Sizes of a sealed room's secret and of what a box adds.
const (
	SecretSize   = 32
	nonceSize    = 12
	sealOverhead = nonceSize + 16
	sealInfo     = "parley-room-seal.v1"
)

func sealLabel(e string) bool {
	return slices.Contains([]string{"chat", "view", "act", sealedData}, e)
}

// SealKey seals and opens the content of one room. The hub never has it.
type SealKey struct{ aead cipher.AEAD }

// NewSealKey derives the key from the secret in the room's link.
func NewSealKey(secret []byte, room string) (*SealKey, error) {
	if len(secret) != SecretSize {
		return nil, fmt.Errorf("a room's secret has %d bytes", SecretSize)
	}
	key, err := hkdf.Key(sha256.New, secret, []byte(room), sealInfo, 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	return &SealKey{aead}, err
}

// ParseSecret reads the secret as a link carries it.
func ParseSecret(text string) ([]byte, error) {
	b, err := decodeBase64(text)
	if err != nil || len(b) != SecretSize {
		return nil, fmt.Errorf("not base64url of %d bytes", SecretSize)
	}
	return b, nil
}

// Box seals bytes under a label; to is empty for a broadcast. The nonce must
// be random and new each time.
func (k *SealKey) Box(nonce [nonceSize]byte, kind ContentKind, e, to string, plain []byte) string {
	return encodeBase64(k.aead.Seal(nonce[:], nonce[:], plain, sealAAD(kind, e, to)))
}

// Unbox opens what Box has sealed under the same label and recipient.
func (k *SealKey) Unbox(box string, kind ContentKind, e, to string) ([]byte, error) {
	b, err := decodeBase64(box)
	if err != nil || len(b) < sealOverhead {
		return nil, ErrUnopened
	}
	plain, err := k.aead.Open(nil, b[:nonceSize], b[nonceSize:], sealAAD(kind, e, to))
	if err != nil {
		return nil, ErrUnopened
	}
	return plain, nil
}

func sealAAD(kind ContentKind, e, to string) []byte {
	return []byte(string(kind) + "|" + e + "|" + to)
}

// Seal turns plain chat, app or schema content into its sealed form. Inside
// the box is a JSON object of the members it hides: text, data or schema.
func (k *SealKey) Seal(nonce [nonceSize]byte, content Raw, to string) (Raw, error) {
	c, err := OpenContent(content)
	if err != nil {
		return nil, err
	}
	if _, err := c.Check(false, to != ""); err != nil {
		return nil, err
	}
	hidden, ok := hiddenMember(c.Kind)
	if !ok {
		return nil, refuse(SealRequired, "this kind cannot be sealed")
	}
	inside := map[string]Raw{hidden: c.o[hidden]}
	if c.Kind == ContentChat && c.o.has("dm") {
		inside["dm"] = c.o["dm"]
	}
	plain, err := marshal(inside)
	if err != nil {
		return nil, err
	}
	e := c.label()
	out := map[string]any{"k": c.Kind, "box": k.Box(nonce, c.Kind, e, to, plain)}
	if e != "" {
		out["e"] = e
	}
	if c.Kind == ContentSchema {
		out["name"], out["version"] = c.o["name"], c.o["version"]
	}
	return marshal(out)
}

// Unseal turns sealed content back into its plain form. App data whose
// envelope is not the one on the label is refused: the hub has judged the
// label.
func (k *SealKey) Unseal(content Raw, to string) (Raw, error) {
	c, err := OpenContent(content)
	if err != nil {
		return nil, err
	}
	hidden, ok := hiddenMember(c.Kind)
	box, _ := c.o.text("box")
	if !ok {
		return nil, ErrUnopened
	}
	plain, err := k.Unbox(box, c.Kind, c.e, to)
	if err != nil {
		return nil, err
	}
	inside, err := readObject(plain)
	if err != nil || len(inside[hidden]) == 0 {
		return nil, ErrUnopened
	}
	out := map[string]any{"k": c.Kind, hidden: inside[hidden]}
	switch c.Kind {
	case ContentSchema:
		out["name"], out["version"] = c.o["name"], c.o["version"]
	case ContentChat:
		if inside.has("dm") {
			out["dm"] = inside["dm"]
		}
	case ContentApp:
		opened := &Content{Kind: ContentApp, Envelope: EnvelopeOf(inside[hidden])}
		if opened.label() != c.e {
			return nil, ErrUnopened
		}
	}
	return marshal(out)
}

// label is the e of plain content: an envelope of an unknown kind is data.
func (c *Content) label() string {
	switch {
	case c.Kind != ContentApp:
		return ""
	case c.Envelope != EnvelopeNone && sealLabel(string(c.Envelope)):
		return string(c.Envelope)
	}
	return sealedData
}

func hiddenMember(k ContentKind) (string, bool) {
	switch k {
	case ContentChat:
		return "text", true
	case ContentApp:
		return "data", true
	case ContentSchema:
		return "schema", true
	}
	return "", false
}

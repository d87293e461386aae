package mmp

import (
	"crypto/hpke"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"slices"
	"time"
)

// The suites of envelope 2, in the order a sender prefers them.
const (
	SuiteHybrid = "MMP2-HPKE-MLKEM768X25519"
	SuiteX25519 = "MMP2-HPKE-X25519"
	SuiteOAEP   = "MMP2-OAEP256-AES256GCM"
)

const envelope2Label = "MMP-ENVELOPE-2"

// Header is what envelope 2 binds: both ids without a place, both key ids, and
// what the relay shows around it. The cipher authenticates it, the signature
// covers it, and the recipient compares it with what came with the blob.
type Header struct {
	From    string
	FromKey string
	ID      string
	To      string
	ToKey   string
	Time    time.Time
	Type    string
}

type headerWire struct {
	From    string `json:"from"`
	FromKey string `json:"from_key"`
	ID      string `json:"id"`
	To      string `json:"to"`
	ToKey   string `json:"to_key"`
	TS      string `json:"ts"`
	Type    string `json:"type"`
}

func (h Header) encode() ([]byte, error) {
	return EncodeSorted(headerWire{
		From: h.From, FromKey: h.FromKey, ID: h.ID, To: h.To, ToKey: h.ToKey, TS: Stamp(h.Time), Type: h.Type,
	})
}

func parseHeader(raw []byte) (Header, error) {
	members, err := splitObject(raw)
	if err != nil {
		return Header{}, refuse(ReasonMalformed, "protected is not a JSON object")
	}
	o := &Object{members: members}
	h := Header{
		From: o.Text("from", MaxID), FromKey: o.Text("from_key", MaxID), ID: o.Text("id", MaxID),
		To: o.Text("to", MaxID), ToKey: o.Text("to_key", MaxID), Type: o.Text("type", MaxMessageType),
	}
	at, err := ParseTime(o.Text("ts", 64))
	if o.err != nil || err != nil || h.From == "" || h.To == "" || h.ID == "" || h.FromKey == "" || h.ToKey == "" {
		return Header{}, refuse(ReasonMalformed, "protected lacks a member")
	}
	h.Time = at
	return h, nil
}

// wire2 fixes the order of the members; those a suite does not use are left out.
type wire2 struct {
	Version      int    `json:"version"`
	Algorithm    string `json:"algorithm"`
	Protected    []byte `json:"protected"`
	Enc          []byte `json:"enc,omitempty"`
	EncryptedKey []byte `json:"encrypted_key,omitempty"`
	IV           []byte `json:"iv,omitempty"`
	AuthTag      []byte `json:"auth_tag,omitempty"`
	Ciphertext   []byte `json:"ciphertext"`
	Signature    []byte `json:"signature"`
}

// signed is the text the sender signs. The parts of unhashed length are of fixed
// length in each suite, which parsing enforces.
func (e *Envelope) signed() []byte {
	protected, ciphertext := sha256.Sum256(e.Protected), sha256.Sum256(e.Ciphertext)
	key := sha256.Sum256(slices.Concat(e.Enc, e.EncryptedKey)) // only one of them is there
	return slices.Concat([]byte(envelope2Label+"\n"), protected[:], key[:], e.IV, e.AuthTag, ciphertext[:])
}

// Seal2 seals and signs for a recipient whose verified entry lists envelope 2. The
// header's keys are filled in; ids lose their place.
func Seal2(from *PrivateKey, to *PublicKey, entry *KeyEntry, h Header, plain []byte) (string, error) {
	switch {
	case len(plain) == 0:
		return "", ErrPlainEmpty
	case len(plain) > MaxBlob:
		return "", ErrPlainTooLarge
	case !entry.Reads(2) || entry.RSA != to.KeyID():
		return "", ErrInvalidEntry
	}
	h.From, _ = SplitAddress(h.From)
	h.To, _ = SplitAddress(h.To)
	h.FromKey, h.ToKey = from.Public().KeyID(), to.KeyID()
	protected, err := h.encode()
	if err != nil {
		return "", err
	}
	if _, err := parseHeader(protected); err != nil {
		return "", err
	}
	e := &Envelope{Protected: protected}
	if err := e.fill(to, entry, plain); err != nil {
		return "", err
	}
	if e.Signature, err = from.signRaw(e.signed()); err != nil {
		return "", err
	}
	return finish(Encode(wire2{
		Version: 2, Algorithm: e.Algorithm, Protected: e.Protected, Enc: e.Enc, EncryptedKey: e.EncryptedKey,
		IV: e.IV, AuthTag: e.AuthTag, Ciphertext: e.Ciphertext, Signature: e.Signature,
	}))
}

// fill encrypts with the first suite the entry offers.
func (e *Envelope) fill(to *PublicKey, entry *KeyEntry, plain []byte) error {
	if key, ok := entry.public(KEMHybrid); ok {
		return e.fillHPKE(SuiteHybrid, key, plain)
	}
	if key, ok := entry.public(KEMX25519); ok {
		return e.fillHPKE(SuiteX25519, key, plain)
	}
	return e.fillOAEP(to, plain)
}

func (e *Envelope) fillHPKE(suite string, key hpke.PublicKey, plain []byte) error {
	enc, sender, err := hpke.NewSender(key, hpke.HKDFSHA256(), hpke.AES256GCM(), []byte(envelope2Label))
	if err != nil {
		return err
	}
	e.Algorithm, e.Enc = suite, enc
	e.Ciphertext, err = sender.Seal(e.Protected, plain)
	return err
}

func (e *Envelope) fillOAEP(to *PublicKey, plain []byte) error {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	encrypted, err := rsa.EncryptOAEP(sha256.New(), rand.Reader, to.rsa, key, []byte(envelope2Label))
	if err != nil {
		return err
	}
	e.Algorithm, e.EncryptedKey = SuiteOAEP, encrypted
	e.IV, e.Ciphertext, e.AuthTag, err = sealGCM(key, plain, e.Protected)
	return err
}

package mmp

import (
	"crypto/hpke"
	"crypto/rsa"
	"crypto/sha256"
	"time"
)

// Keyring holds the private keys of one agent.
type Keyring struct {
	RSA  *PrivateKey
	HPKE []HPKEKey
}

func (r Keyring) hpke(kem KEM) (hpke.PrivateKey, bool) {
	for _, k := range r.HPKE {
		if k.KEM == kem {
			return k.key, true
		}
	}
	return nil, false
}

// ReplayKey is what must not be seen twice within [ReplayWindow].
type ReplayKey struct{ FromKey, ID string }

// Incoming is what the recipient knows around a blob.
type Incoming struct {
	Me        string     // my id at that place
	From      string     // the relay's from, with its place if it has one
	Type      string     // the relay's message_type
	SenderKey *PublicKey // the key held for From, nil when none is
	Now       time.Time
	// Seen tells whether the key was used before by another relayed message; a
	// redelivery of the same one is no replay. Nil leaves the question to the
	// caller.
	Seen func(ReplayKey) bool
}

// Opened is a verified message.
type Opened struct {
	Header Header
	Plain  []byte
	Replay ReplayKey
}

// Open2 verifies and opens envelope 2. Nothing is decrypted before the signature
// has fitted, and nothing is returned before everything has.
func (e *Envelope) Open2(ring Keyring, in Incoming) (*Opened, error) {
	if e.Version != 2 {
		return nil, refuse(ReasonUnsupportedEnvelope, "version %d", e.Version)
	}
	if err := e.shape(); err != nil {
		return nil, err
	}
	h, err := parseHeader(e.Protected)
	if err != nil {
		return nil, err
	}
	if err := h.check(ring, in); err != nil {
		return nil, err
	}
	if in.SenderKey.verifyRaw(e.signed(), e.Signature) != nil {
		return nil, refuse(ReasonSignature, "")
	}
	plain, err := e.decrypt(ring)
	if err != nil {
		return nil, err
	}
	opened := &Opened{Header: h, Plain: plain, Replay: ReplayKey{FromKey: h.FromKey, ID: h.ID}}
	if err := opened.fresh(in); err != nil {
		return nil, err
	}
	return opened, nil
}

// shape holds each suite to the members it uses.
func (e *Envelope) shape() error {
	ok := len(e.Protected) > 0 && len(e.Signature) > 0 && len(e.Ciphertext) > 0
	switch e.Algorithm {
	case SuiteHybrid, SuiteX25519:
		ok = ok && len(e.Enc) > 0 && len(e.EncryptedKey) == 0 && len(e.IV) == 0 && len(e.AuthTag) == 0
	case SuiteOAEP:
		ok = ok && len(e.Enc) == 0 && len(e.EncryptedKey) > 0 && len(e.IV) == gcmNonce && len(e.AuthTag) == gcmTag
	default:
		return refuse(ReasonUnsupportedAlgorithm, "%s", Clip(e.Algorithm, 64))
	}
	if !ok {
		return refuse(ReasonMalformed, "a member is missing, superfluous or has the wrong length")
	}
	return nil
}

// check compares what the sender bound with what came around the blob.
func (h Header) check(ring Keyring, in Incoming) error {
	me, _ := SplitAddress(in.Me)
	from, _ := SplitAddress(in.From)
	switch {
	case h.To != me:
		return refuse(ReasonNotForMe, "")
	case h.ToKey != ring.RSA.Public().KeyID():
		return refuse(ReasonOtherKey, "")
	case h.From != from:
		return refuse(ReasonSenderMismatch, "")
	case h.Type != in.Type:
		return refuse(ReasonTypeMismatch, "")
	case in.SenderKey == nil || h.FromKey != in.SenderKey.KeyID():
		return refuse(ReasonSenderKey, "")
	}
	return nil
}

func (e *Envelope) decrypt(ring Keyring) ([]byte, error) {
	switch e.Algorithm {
	case SuiteHybrid:
		return e.decryptHPKE(ring, KEMHybrid)
	case SuiteX25519:
		return e.decryptHPKE(ring, KEMX25519)
	}
	key, err := rsa.DecryptOAEP(sha256.New(), nil, ring.RSA.rsa, e.EncryptedKey, []byte(envelope2Label))
	if err != nil || len(key) != 32 {
		return nil, refuse(ReasonUndecryptable, "it was sealed for another key")
	}
	return openGCM(key, e.IV, e.Ciphertext, e.AuthTag, e.Protected)
}

func (e *Envelope) decryptHPKE(ring Keyring, kem KEM) ([]byte, error) {
	key, ok := ring.hpke(kem)
	if !ok {
		return nil, refuse(ReasonNoKey, "%s", kem)
	}
	r, err := hpke.NewRecipient(e.Enc, key, hpke.HKDFSHA256(), hpke.AES256GCM(), []byte(envelope2Label))
	if err != nil {
		return nil, refuse(ReasonUndecryptable, "bad encapsulated key")
	}
	plain, err := r.Open(e.Protected, e.Ciphertext)
	if err != nil {
		return nil, refuse(ReasonUndecryptable, "it was changed or sealed for another key")
	}
	return plain, nil
}

func (o *Opened) fresh(in Incoming) error {
	age := in.Now.Sub(o.Header.Time)
	var err error
	switch {
	case age > MaxAge:
		err = refuse(ReasonTooOld, "%s", age.Round(time.Second))
	case -age > MaxAhead:
		err = refuse(ReasonFromFuture, "%s", (-age).Round(time.Second))
	case in.Seen != nil && in.Seen(o.Replay):
		err = refuse(ReasonReplayed, "")
	}
	return err
}

package mmp

// Encounter is what an agent signs for whoever calls it at its own address and wants to
// know whether it holds its key. It names that address and the caller, so that somebody
// in between, who was called elsewhere or by another, gets nothing to pass on.
type Encounter struct {
	Address, Caller, Nonce string
}

func (e Encounter) text(keyID string) []byte {
	return SignedText("MMP-MEET-1", e.Address, e.Caller, e.Nonce, keyID)
}

// Sound tells whether all of it is there and on one line each.
func (e Encounter) Sound() bool {
	return e.Address != "" && ValidID(e.Caller) && e.Nonce != "" && len(e.Nonce) <= MaxID && oneLine(e.Address, e.Nonce)
}

// Sign shows that the agent holds the key.
func (e Encounter) Sign(k *PrivateKey) (Proof, error) {
	if !e.Sound() {
		return Proof{}, InvalidField("nonce")
	}
	sig, err := k.Sign(e.text(k.Public().KeyID()))
	return Proof{Nonce: e.Nonce, Signature: sig}, err
}

// Verify checks that the agent which was called holds the key.
func (e Encounter) Verify(k *PublicKey, p Proof) error {
	if p.Nonce != e.Nonce || !e.Sound() {
		return ErrBadSignature
	}
	return k.Verify(e.text(k.KeyID()), p.Signature)
}

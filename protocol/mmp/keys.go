package mmp

// KeyRequest is a keys/register request.
type KeyRequest struct {
	AgentID           string
	Key               *PublicKey
	Entry             SignedEntry
	RotationSignature string
	// SuccessorSignature is the new key's own word; peers follow a rotation that has both.
	SuccessorSignature string
	Proof              *Proof
}

// DecodeKey reads a key registration; token is the id of the token it came with.
func DecodeKey(body []byte, token string) (*KeyRequest, error) {
	o := OpenObject(body)
	r := &KeyRequest{
		AgentID: o.ID("agent_id", ValidID), RotationSignature: o.Text("rotation_signature", MaxSignatureText),
		SuccessorSignature: o.Text("successor_signature", MaxSignatureText),
		Entry:              SignedEntry{Entry: o.Text("entry", MaxEntry), Signature: o.Text("entry_signature", MaxSignatureText)},
		Proof:              ReadProof(o),
	}
	text := o.Text("public_key", MaxPEM)
	if o.err != nil {
		return nil, o.err
	}
	var err error
	if r.AgentID, err = ActingAgent("agent_id", r.AgentID, token); err != nil {
		return nil, err
	}
	if text == "" {
		return nil, Required("public_key")
	}
	if r.Key, err = ParsePublicKey(text); err != nil {
		return nil, ErrInvalidKey
	}
	return r, r.checkEntry()
}

// checkEntry refuses half an entry as well as one that does not fit.
func (r *KeyRequest) checkEntry() error {
	if r.Entry == (SignedEntry{}) {
		return nil
	}
	_, err := VerifyEntry(r.Key, r.AgentID, r.Entry)
	return err
}

// KeyRegistered answers a key registration.
type KeyRegistered struct {
	Status      string `json:"status"`
	AgentID     string `json:"agent_id"`
	Fingerprint string `json:"fingerprint"`
	KeyID       string `json:"key_id"`
}

// KeyAnswer is an agent's key, its PEM byte for byte as registered.
type KeyAnswer struct {
	AgentID             string  `json:"agent_id"`
	PublicKey           string  `json:"public_key"`
	Fingerprint         string  `json:"fingerprint"`
	KeyID               string  `json:"key_id"`
	RegisteredAt        Time    `json:"registered_at"`
	Proven              bool    `json:"proven"`
	ChangedAt           Time    `json:"changed_at"`
	PreviousFingerprint *string `json:"previous_fingerprint"`
	Envelopes           []int   `json:"envelopes"`
	Entry               *string `json:"entry"`
	EntrySignature      *string `json:"entry_signature"`
	// Log shows that the key is in the place's log.
	Log *Inclusion `json:"log,omitzero"`
}

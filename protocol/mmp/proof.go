package mmp

import (
	"strings"
)

// Identity is who an agent says it is. It is sent with its members sorted, so
// that verifiers of either kind agree on the bytes.
type Identity struct {
	Description string `json:"description"`
	InstanceID  string `json:"instance_id"`
	Name        string `json:"name"`
	Scope       string `json:"scope"`
	// SignedFor is set in what is published, so that nobody registers with it; see
	// [SignIntroduction].
	SignedFor string `json:"signed_for,omitzero"`
	// RegistersAt is the address of the place a static proof is for.
	RegistersAt string `json:"registers_at,omitzero"`
	Version     string `json:"version"`
}

// forIntroduction is the purpose of a signature that everybody may read.
const forIntroduction = "introduction"

// Static is the proof of the signed-registration clients.
type Static struct {
	Identity  Raw    // as sent
	Signature string // base64
}

// SignIdentity makes the static proof, for one place and never to be published: who
// has it can register with it. Send the identity exactly as returned.
func SignIdentity(k *PrivateKey, id Identity) (Static, error) {
	raw, err := EncodeSorted(id)
	if err != nil {
		return Static{}, err
	}
	sig, err := k.Sign(raw)
	return Static{Identity: raw, Signature: sig}, err
}

// SignIntroduction signs an identity that is published. Whoever reads it learns that
// the key's owner says so; no place lets anybody in for it.
func SignIntroduction(k *PrivateKey, id Identity) (Static, error) {
	id.SignedFor = forIntroduction
	return SignIdentity(k, id)
}

// ForRegistering tells whether an identity was signed to register with it at a place
// that is called at the address: a purpose that is named is another one, and so is a
// place that is named and is not this one.
func (s Static) ForRegistering(address string) bool {
	o := OpenObject(s.Identity)
	at := o.Text("registers_at", MaxEndpoint)
	return o.err == nil && !o.Has("signed_for") && (at == "" || at == address)
}

// VerifyIdentity accepts a signature over the identity as sent without white
// space, or over the same with sorted names.
func VerifyIdentity(k *PublicKey, s Static) error {
	compact, err := Compact(s.Identity)
	if err != nil {
		return ErrBadSignature
	}
	if k.Verify(compact, s.Signature) == nil {
		return nil
	}
	sorted, err := Sorted(s.Identity)
	if err != nil {
		return ErrBadSignature
	}
	return k.Verify(sorted, s.Signature)
}

// InstanceOf reads the id an identity names; empty when it names none.
func InstanceOf(identity Raw) string {
	o := OpenObject(identity)
	id := o.Text("instance_id", MaxID)
	if o.err != nil {
		return ""
	}
	return id
}

// Proof answers a challenge.
type Proof struct {
	Nonce     string `json:"nonce"`
	Signature string `json:"signature"`
}

// Challenge is what a proof is bound to: the place's key, and the address at which
// the agent called it. A place that hands on the challenge of another one gets an
// answer that is of no use there.
type Challenge struct {
	PlaceKey, Address, AgentID, Nonce string
}

func (c Challenge) text(keyID string) []byte {
	return SignedText("MMP-PROOF-2", c.PlaceKey, c.Address, c.AgentID, c.Nonce, keyID)
}

// SignedText joins the parts of a signed text. None of them can hold a line break:
// ids, hashes and nonces have alphabets without one, checked before this.
func SignedText(parts ...string) []byte { return []byte(strings.Join(parts, "\n")) }

// Sign answers the challenge.
func (c Challenge) Sign(k *PrivateKey) (Proof, error) {
	sig, err := k.Sign(c.text(k.Public().KeyID()))
	return Proof{Nonce: c.Nonce, Signature: sig}, err
}

// Verify checks an answer; whether the nonce is fresh is the place's to know.
func (c Challenge) Verify(k *PublicKey, p Proof) error {
	if p.Nonce != c.Nonce || !ValidID(c.AgentID) || !oneLine(c.PlaceKey, c.Address, c.Nonce) {
		return ErrBadSignature
	}
	return k.Verify(c.text(k.KeyID()), p.Signature)
}

func oneLine(parts ...string) bool {
	for _, p := range parts {
		if strings.ContainsAny(p, "\r\n") {
			return false
		}
	}
	return true
}

func rotationText(agentID, newKeyID string) []byte {
	return SignedText("MMP-ROTATE-1", agentID, newKeyID)
}

// SignRotation lets the old key name its successor.
func SignRotation(old *PrivateKey, agentID string, successor *PublicKey) (string, error) {
	return old.Sign(rotationText(agentID, successor.KeyID()))
}

// VerifyRotation checks that the old key named its successor.
func VerifyRotation(old *PublicKey, agentID string, successor *PublicKey, signature string) error {
	if !ValidID(agentID) {
		return ErrBadSignature
	}
	return old.Verify(rotationText(agentID, successor.KeyID()), signature)
}

// ReadProof reads the answer to a challenge that came with a request, if one did.
func ReadProof(o *Object) *Proof {
	part := o.Sub("proof")
	if part == nil {
		return nil
	}
	p := &Proof{Nonce: part.Text("nonce", MaxID), Signature: part.Text("signature", MaxSignatureText)}
	o.Join(part)
	return p
}

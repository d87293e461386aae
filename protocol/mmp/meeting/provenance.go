package meeting

import (
	"errors"
	"slices"
	"strings"

	"parley.internal/protocol/mmp"
)

// Why a provenance is refused.
var (
	// ErrHopLimit: the skill passed through too many hands.
	ErrHopLimit = errors.New("passed through too many agents")
	// ErrLoop: an agent is named twice, or the skill came back to where it was.
	ErrLoop = errors.New("the provenance runs in a loop")
)

// maxChain is far above the hop limit.
const maxChain = 32

// Provenance says through whose hands a skill came. It is a claim; only hops with
// a fitting attestation are more than that.
type Provenance struct {
	Origin   string        `json:"origin"`
	Chain    []string      `json:"chain"`
	HopCount int           `json:"hop_count"`
	Attest   []Attestation `json:"attest,omitempty"`
}

// Attestation is the signature of one agent in the chain.
type Attestation struct {
	AgentID   string `json:"agent_id"`
	KeyID     string `json:"key_id"`
	Signature string `json:"signature"`
}

// DecodeProvenance reads one; an empty text or object is none at all.
func DecodeProvenance(raw []byte) (*Provenance, error) {
	wrapped, err := mmp.EncodeCompact(raw)
	if err != nil {
		return nil, mmp.ErrInvalidJSON
	}
	o := mmp.OnlyMember("provenance", wrapped)
	p := ReadProvenance(o, "provenance")
	return p, o.Err()
}

// ReadProvenance reads the member that says where a skill came from; none is nil.
func ReadProvenance(o *mmp.Object, key string) *Provenance {
	part := o.Sub(key)
	if part == nil || part.Empty() {
		return nil
	}
	p := &Provenance{Origin: part.ID("origin", mmp.ValidAddress), Chain: part.Texts("chain", maxChain, 2*mmp.MaxID), HopCount: part.Whole("hop_count")}
	if slices.ContainsFunc(p.Chain, func(id string) bool { return !mmp.ValidAddress(id) }) {
		part.Fail("chain")
	}
	for _, item := range part.List("attest", maxChain) {
		p.Attest = append(p.Attest, readAttestation(part, item))
	}
	o.Join(part)
	return p
}

func readAttestation(part *mmp.Object, item mmp.Raw) Attestation {
	a := mmp.OpenObject(item)
	out := Attestation{AgentID: a.ID("agent_id", mmp.ValidAddress), KeyID: a.Text("key_id", mmp.MaxID), Signature: a.Text("signature", mmp.MaxSignatureText)}
	if a.Err() != nil {
		part.Fail("attest")
	}
	return out
}

// Receive settles what arrived from sender at me: the sender joins the chain
// unless it is last there, an understated count is corrected, and what came too
// far or in a circle is refused. A nil p is a skill of the sender's own.
func (p *Provenance) Receive(sender, me string) (Provenance, error) {
	var in Provenance
	if p != nil {
		in = *p
	}
	out := Provenance{Origin: in.Origin, Chain: slices.Clone(in.Chain), Attest: slices.Clone(in.Attest)}
	if out.Origin != "" && (len(out.Chain) == 0 || out.Chain[0] != out.Origin) {
		out.Chain = append([]string{out.Origin}, out.Chain...)
	}
	// The first nodes put themselves at the end when they receive a skill and again
	// when they hand it on. That is one hop, and they count two.
	for n := len(out.Chain); n > 1 && out.Chain[n-1] == sender && out.Chain[n-2] == sender; n-- {
		out.Chain = out.Chain[:n-1]
		in.HopCount--
	}
	if len(out.Chain) == 0 || out.Chain[len(out.Chain)-1] != sender {
		out.Chain = append(out.Chain, sender)
	}
	out.Origin = out.Chain[0]
	out.HopCount = max(in.HopCount, len(out.Chain)-1)
	switch {
	case repeats(out.Chain) || slices.Contains(out.Chain, me):
		return Provenance{}, ErrLoop
	case out.HopCount >= mmp.MaxHops:
		return Provenance{}, ErrHopLimit
	}
	return out, nil
}

func repeats(chain []string) bool {
	seen := make(map[string]bool, len(chain))
	for _, id := range chain {
		if seen[id] {
			return true
		}
		seen[id] = true
	}
	return false
}

// Send is the provenance of a skill that me hands on: one hop more than it had
// here. A nil p is a skill of my own, at hop 0.
func (p *Provenance) Send(me string) Provenance {
	if p == nil {
		return Provenance{Origin: me, Chain: []string{me}}
	}
	out := Provenance{Origin: p.Origin, Chain: slices.Clone(p.Chain), Attest: slices.Clone(p.Attest), HopCount: p.HopCount}
	if len(out.Chain) == 0 || out.Chain[len(out.Chain)-1] != me {
		out.Chain = append(out.Chain, me)
		out.HopCount = max(p.HopCount+1, len(out.Chain)-1)
	}
	if out.Origin == "" {
		out.Origin = out.Chain[0]
	}
	return out
}

// attestText binds an agent to the content and to the whole way up to itself.
func attestText(chain []string, content mmp.Hash) []byte {
	return mmp.SignedText("MMP-PROVENANCE-1", content.Bare(), strings.Join(chain, "\n"))
}

// SignHop adds my signature for the content to a provenance that ends with me.
func (p Provenance) SignHop(k *mmp.PrivateKey, content mmp.Hash) (Provenance, error) {
	sig, err := k.Sign(attestText(p.Chain, content))
	if err != nil {
		return p, err
	}
	p.Attest = append(slices.Clone(p.Attest), Attestation{AgentID: p.Chain[len(p.Chain)-1], KeyID: k.Public().KeyID(), Signature: sig})
	return p, nil
}

// VerifiedHops tells for each agent of the chain whether it vouched for this
// content and the way to it, by a key the caller holds for it.
func (p Provenance) VerifiedHops(content mmp.Hash, key func(agentID string) *mmp.PublicKey) []bool {
	out := make([]bool, len(p.Chain))
	for i, id := range p.Chain {
		k := key(id)
		if k == nil {
			continue
		}
		text := attestText(p.Chain[:i+1], content)
		out[i] = slices.ContainsFunc(p.Attest, func(a Attestation) bool {
			return a.AgentID == id && a.KeyID == k.KeyID() && k.Verify(text, a.Signature) == nil
		})
	}
	return out
}

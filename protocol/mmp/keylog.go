package mmp

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
)

// What a reader of a place's key log may find.
var (
	// ErrNotLogged: the place shows a key that is not in its log, or shows no log.
	ErrNotLogged = errors.New("the key is not in the place's log")
	// ErrTwoHistories: the place has signed two logs of which neither continues the other.
	ErrTwoHistories = errors.New("the place shows two histories of its keys")
	// ErrOlderKey: the place shows a key that a newer one has replaced.
	ErrOlderKey = errors.New("the place shows an older key than before")
)

// Binding is one leaf of a key log: from now on, this id has this key. Signatures are
// there where the old key named its successor and the new one took over.
type Binding struct {
	AgentID            string `json:"agent_id"`
	At                 string `json:"at"`
	KeyID              string `json:"key_id"`
	Previous           string `json:"previous"`
	Proof              string `json:"proof"`
	RotationSignature  string `json:"rotation_signature"`
	SuccessorSignature string `json:"successor_signature"`
}

// Leaf is the text that is hashed into the tree.
func (b Binding) Leaf() (string, error) {
	raw, err := EncodeSorted(b)
	return string(raw), err
}

// ParseLeaf reads one.
func ParseLeaf(leaf string) (Binding, error) {
	o := OpenObject([]byte(leaf))
	b := Binding{
		AgentID: o.ID("agent_id", ValidID), At: o.Text("at", 64), KeyID: o.Text("key_id", MaxID), Previous: o.Text("previous", MaxID), Proof: o.Text("proof", MaxScope),
		RotationSignature: o.Text("rotation_signature", MaxSignatureText), SuccessorSignature: o.Text("successor_signature", MaxSignatureText),
	}
	return b, o.Err()
}

// Succeeds tells that both keys signed that next takes over from old.
func (b Binding) Succeeds(old, next *PublicKey) bool {
	return b.Previous == old.KeyID() && b.KeyID == next.KeyID() &&
		VerifyRotation(old, b.AgentID, next, b.RotationSignature) == nil && VerifySuccession(old, b.AgentID, next, b.SuccessorSignature) == nil
}

func successionText(agentID, oldKeyID, newKeyID string) []byte {
	return SignedText("MMP-SUCCEED-1", agentID, oldKeyID, newKeyID)
}

// SignSuccession lets a new key take over from the one that named it.
func SignSuccession(successor *PrivateKey, agentID string, old *PublicKey) (string, error) {
	return successor.Sign(successionText(agentID, old.KeyID(), successor.Public().KeyID()))
}

// VerifySuccession checks it.
func VerifySuccession(old *PublicKey, agentID string, successor *PublicKey, signature string) error {
	if !ValidID(agentID) {
		return ErrBadSignature
	}
	return successor.Verify(successionText(agentID, old.KeyID(), successor.KeyID()), signature)
}

// Head is a whole key log in one line: how long it is, and the root of its Merkle tree
// (RFC 6962), signed by the place.
type Head struct {
	PlaceKey  string    `json:"place_key"`
	Size      int64     `json:"size"`
	Root      tlog.Hash `json:"root"`
	Signature string    `json:"signature"`
}

func (h Head) text() []byte {
	return SignedText("MMP-KEY-HEAD-1", h.PlaceKey, fmt.Sprint(h.Size), h.Root.String())
}

// Sign signs it as the place.
func (h *Head) Sign(k ed25519.PrivateKey) {
	h.PlaceKey = FormatPeerKey(k.Public().(ed25519.PublicKey))
	h.Signature = base64.StdEncoding.EncodeToString(ed25519.Sign(k, h.text()))
}

// Verify checks that the place it names signed it.
func (h Head) Verify() error {
	key, err := ParsePeerKey(h.PlaceKey)
	if err != nil || h.Size < 0 || FormatPeerKey(key) != h.PlaceKey {
		return ErrPlaceUnproven
	}
	sig, err := strictBase64(h.Signature)
	if err != nil || !ed25519.Verify(key, h.text(), sig) {
		return ErrPlaceUnproven
	}
	return nil
}

// Contradicts tells that two heads of one length, both signed by one place, differ.
// That alone is the proof of two histories.
func (h Head) Contradicts(other Head) bool {
	return h.PlaceKey == other.PlaceKey && h.Size == other.Size && h.Root != other.Root
}

// Follows checks that a log continues an older one, by the proof the place gave.
func (h Head) Follows(older Head, proof []tlog.Hash) error {
	if h.Contradicts(older) || h.PlaceKey != older.PlaceKey || h.Size < older.Size {
		return ErrTwoHistories
	}
	if h.Size == older.Size || older.Size == 0 {
		return nil
	}
	if tlog.CheckTree(proof, h.Size, h.Root, older.Size, older.Root) != nil {
		return ErrTwoHistories
	}
	return nil
}

// Inclusion shows that a binding is in a log.
type Inclusion struct {
	Head  Head        `json:"head"`
	Index int64       `json:"index"`
	Leaf  string      `json:"leaf"`
	Proof []tlog.Hash `json:"proof"`
}

// Verify checks that the log of the head has this key for the id.
func (i *Inclusion) Verify(agentID, keyID string) (Binding, error) {
	if i == nil {
		return Binding{}, ErrNotLogged
	}
	if err := i.Head.Verify(); err != nil {
		return Binding{}, err
	}
	b, err := ParseLeaf(i.Leaf)
	if err != nil || b.AgentID != agentID || b.KeyID != keyID || i.Index < 0 || i.Index >= i.Head.Size {
		return b, ErrNotLogged
	}
	if tlog.CheckRecord(i.Proof, i.Head.Size, i.Head.Root, i.Index, tlog.RecordHash([]byte(i.Leaf))) != nil {
		return b, ErrNotLogged
	}
	return b, nil
}

// ConsistencyAnswer shows that one length of a log continues another.
type ConsistencyAnswer struct {
	From  int64       `json:"from"`
	To    int64       `json:"to"`
	Proof []tlog.Hash `json:"proof"`
}

// Logged is one binding with the key itself.
type Logged struct {
	Index     int64  `json:"index"`
	Leaf      string `json:"leaf"`
	PublicKey string `json:"public_key"`
}

// HistoryAnswer lists all bindings of one id, the oldest first.
type HistoryAnswer struct {
	Bindings []Logged `json:"bindings"`
}

// SeenAnswer lists heads of other places; it is also how they are handed over.
type SeenAnswer struct {
	Heads []Head `json:"heads"`
}

// MaxHeads is how many heads are handed over at once.
const MaxHeads = 64

// DecodeHeads reads heads that somebody hands over. One that its place did not sign is
// left out: it says nothing about that place.
func DecodeHeads(body []byte) ([]Head, error) {
	var in SeenAnswer
	if err := Decode(body, &in); err != nil {
		return nil, ErrInvalidJSON
	}
	if len(in.Heads) > MaxHeads {
		return nil, InvalidField("heads")
	}
	var out []Head
	for _, h := range in.Heads {
		if h.Verify() == nil {
			out = append(out, h)
		}
	}
	return out, nil
}

// Succession follows the bindings of an id from one key to another: each key must have
// named the next one, and that one taken over. It returns the ids of the keys on the way.
func Succession(agentID string, bindings []Logged, from, to *PublicKey) ([]string, error) {
	current, passed := from, []string{}
	for _, l := range bindings {
		if current.KeyID() == to.KeyID() {
			break
		}
		b, err := ParseLeaf(l.Leaf)
		if err != nil || b.AgentID != agentID || b.Previous != current.KeyID() {
			continue
		}
		next, err := ParsePublicKey(l.PublicKey)
		if err != nil || !b.Succeeds(current, next) {
			continue
		}
		passed, current = append(passed, current.KeyID()), next
	}
	if current.KeyID() != to.KeyID() || len(passed) == 0 {
		return nil, ErrNotLogged
	}
	return passed, nil
}

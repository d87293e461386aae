package mmp

import (
	"crypto/hpke"
	"encoding/base64"
	"fmt"
	"slices"
	"time"
)

// KeyEntry is what an agent publishes about the seals it reads, signed by its RSA
// key so that a place cannot swap keys.
type KeyEntry struct {
	AgentID   string
	Envelopes []int
	HPKE      []HPKEPublic
	IssuedAt  time.Time
	RSA       string // key id
}

// HPKEPublic is one public key of an entry. Kinds nobody knows are kept out.
type HPKEPublic struct {
	KEM KEM
	key hpke.PublicKey
}

// SignedEntry is an entry as it travels and is served, verbatim.
type SignedEntry struct {
	Entry     string `json:"entry"`
	Signature string `json:"entry_signature"`
}

type entryWire struct {
	AgentID   string      `json:"agent_id"`
	Envelopes []int       `json:"envelopes"`
	HPKE      []entryHPKE `json:"hpke"`
	IssuedAt  string      `json:"issued_at"`
	RSA       string      `json:"rsa"`
}

type entryHPKE struct {
	KEM string `json:"kem"`
	Key []byte `json:"key"`
}

// Limits of an entry, far above what one holds.
const (
	MaxEntry     = 16 << 10
	maxEntryKeys = 8
)

func entryText(entry string) []byte { return []byte("MMP-KEY-ENTRY-2\n" + entry) }

// SignEntry makes an agent's entry.
func SignEntry(k *PrivateKey, agentID string, keys []HPKEKey, now time.Time) (SignedEntry, error) {
	w := entryWire{AgentID: agentID, Envelopes: []int{1, 2}, IssuedAt: Stamp(now), RSA: k.Public().KeyID()}
	for _, key := range keys {
		w.HPKE = append(w.HPKE, entryHPKE{KEM: string(key.KEM), Key: key.Public()})
	}
	raw, err := EncodeSorted(w)
	if err != nil {
		return SignedEntry{}, err
	}
	entry := base64.StdEncoding.EncodeToString(raw)
	sig, err := k.Sign(entryText(entry))
	return SignedEntry{Entry: entry, Signature: sig}, err
}

// VerifyEntry checks an entry against the agent and the key it claims to speak
// for. The place does it before storing, the sender again before sealing.
func VerifyEntry(k *PublicKey, agentID string, s SignedEntry) (*KeyEntry, error) {
	if len(s.Entry) > MaxEntry {
		return nil, ErrInvalidEntry
	}
	agentID, _ = SplitAddress(agentID) // an entry names its agent as its own place does
	if k.Verify(entryText(s.Entry), s.Signature) != nil {
		return nil, ErrInvalidEntry
	}
	raw, err := strictBase64(s.Entry)
	if err != nil {
		return nil, ErrInvalidEntry
	}
	e, err := parseEntry(raw)
	if err != nil || e.AgentID != agentID || e.RSA != k.KeyID() {
		return nil, ErrInvalidEntry
	}
	return e, nil
}

func parseEntry(raw []byte) (*KeyEntry, error) {
	o := OpenObject(raw)
	e := &KeyEntry{AgentID: o.Text("agent_id", MaxID), RSA: o.Text("rsa", 128)}
	at, err := ParseTime(o.Text("issued_at", 64))
	if err != nil {
		return nil, err
	}
	e.IssuedAt = at
	for _, item := range o.List("envelopes", maxEntryKeys) {
		switch string(item) {
		case "1":
			e.Envelopes = append(e.Envelopes, 1)
		case "2":
			e.Envelopes = append(e.Envelopes, 2)
		}
	}
	for _, item := range o.List("hpke", maxEntryKeys) {
		if err := e.addHPKE(item); err != nil {
			return nil, err
		}
	}
	return e, o.err
}

// addHPKE skips kinds of keys that came after us; a broken key of a known kind
// makes the entry useless.
func (e *KeyEntry) addHPKE(item Raw) error {
	o := OpenObject(item)
	kem, text := KEM(o.Text("kem", 64)), o.Text("key", MaxEntry)
	if o.err != nil {
		return o.err
	}
	scheme, known := kem.scheme()
	if !known {
		return nil
	}
	raw, err := strictBase64(text)
	if err != nil {
		return err
	}
	key, err := scheme.NewPublicKey(raw)
	if err != nil {
		return fmt.Errorf("%s: %w", kem, err)
	}
	e.HPKE = append(e.HPKE, HPKEPublic{KEM: kem, key: key})
	return nil
}

// Reads tells whether the agent opens that version of the envelope.
func (e *KeyEntry) Reads(version int) bool { return e != nil && slices.Contains(e.Envelopes, version) }

func (e *KeyEntry) public(kem KEM) (hpke.PublicKey, bool) {
	for _, p := range e.HPKE {
		if p.KEM == kem {
			return p.key, true
		}
	}
	return nil, false
}

// ChooseEnvelope tells which version to seal for a recipient: 2 when its verified
// entry lists it, else 1. Who was once known to read 2 is never sent 1 again
// unless the caller insists.
func ChooseEnvelope(entry *KeyEntry, knownV2, allowDowngrade bool) (int, error) {
	switch {
	case entry.Reads(2):
		return 2, nil
	case knownV2 && !allowDowngrade:
		return 0, ErrDowngrade
	}
	return 1, nil
}

package mmpagent

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/meeting"
	"parley.internal/protocol/mmp/relay"
)

// Sent is what became of a send.
type Sent struct {
	relay.SendAnswer
	// Version is the envelope it was sealed in; KeyID whose key it was sealed for.
	Version int
	KeyID   string
}

// Key fetches the key of an address, checks its entry and holds it to the pin. The
// entry is nil when there is none.
func (a *Agent) Key(ctx context.Context, address string) (*mmp.PublicKey, *mmp.KeyEntry, error) {
	k, key, err := a.shownKey(ctx, address)
	if err != nil {
		return nil, nil, err
	}
	if err := a.checkLog(ctx, address, k, key); err != nil {
		return nil, nil, err
	}
	met, err := a.heldKey(ctx, address, key)
	if err != nil {
		return nil, nil, err
	}
	var entry *mmp.KeyEntry
	if k.Entry != nil && k.EntrySignature != nil {
		// An entry that does not verify is no entry: the place may have made it up.
		if e, err := mmp.VerifyEntry(key, address, mmp.SignedEntry{Entry: *k.Entry, Signature: *k.EntrySignature}); err == nil {
			entry = e
		}
	}
	if met.Envelope2 = entry.Reads(2); entry != nil {
		met.EntryAt = entry.IssuedAt
	}
	if k.Log != nil {
		met.LogIndex = k.Log.Index
	}
	_, err = a.opts.Peers.meet(a.placeName(ctx), address, met, key, a.opts.Now())
	return key, entry, err
}

// heldKey looks for the way from the key an address is known by to the one it shows. The
// id itself may say whose key it has, whatever the place says; a pin does; a person may
// have accepted another one. Keys that named their successor are followed without one.
func (a *Agent) heldKey(ctx context.Context, address string, key *mmp.PublicKey) (Peer, error) {
	peer, known := a.opts.Peers.Get(a.placeName(ctx), address)
	if known && peer.KeyID == key.KeyID() {
		return Peer{}, nil
	}
	id, _ := mmp.SplitAddress(address)
	if !known && mmp.MayHave(id, key) {
		return Peer{}, nil
	}
	var from *mmp.PublicKey
	if known {
		from, _ = mmp.ParsePublicKey(peer.PublicKey) // a pin by hand has only an id
	}
	if earlier, err := a.succession(ctx, address, from, key); err == nil && (!known || slices.Contains(earlier, peer.KeyID)) {
		return Peer{Earlier: earlier}, nil
	}
	if known {
		return Peer{}, nil // meet says what is wrong with it
	}
	return Peer{}, &KeyChange{Address: address, Pinned: id, Now: key.KeyID()}
}

// shownKey is the key the place shows for an address. A place without a directory of
// keys may tell it with the agent itself.
func (a *Agent) shownKey(ctx context.Context, address string) (k mmp.KeyAnswer, key *mmp.PublicKey, err error) {
	err = a.call(ctx, request{method: "GET", path: "/keys/" + url.PathEscape(address)}, &k)
	if missing(err) {
		if a.call(ctx, request{method: "GET", path: "/agents/" + url.PathEscape(address)}, &k) != nil || k.PublicKey == "" {
			return k, nil, err
		}
	} else if err != nil {
		return k, nil, err
	}
	key, err = mmp.ParsePublicKey(k.PublicKey)
	return k, key, err
}

// Send seals content for an address and hands it to the relay. A string travels as
// it is, anything else as JSON.
func (a *Agent) Send(ctx context.Context, to, kind string, content any) (Sent, error) {
	plain, err := mmp.Plain(content)
	if err != nil {
		return Sent{}, err
	}
	key, entry, err := a.Key(ctx, to)
	if err != nil {
		return Sent{}, err
	}
	peer, _ := a.opts.Peers.Get(a.placeName(ctx), to)
	version, err := mmp.ChooseEnvelope(entry, peer.Envelope2, a.opts.AllowDowngrade)
	if err != nil {
		return Sent{}, err
	}
	if a.ring().RSA == nil {
		version = 1 // nobody to sign
	}
	var blob string
	if version == 2 {
		blob, err = mmp.Seal2(a.ring().RSA, key, entry, mmp.Header{From: a.ID(), To: to, ID: mmp.NewMessageID(), Time: a.opts.Now(), Type: kind}, plain)
	} else {
		blob, err = mmp.Seal1(key, plain)
	}
	if err != nil {
		return Sent{}, err
	}
	answer, err := a.SendBlob(ctx, to, kind, blob, mmp.NewNonce())
	return Sent{SendAnswer: answer, Version: version, KeyID: key.KeyID()}, err
}

// SendBlob hands over what is sealed already. Repeating it with the same
// idempotency key has no second effect.
func (a *Agent) SendBlob(ctx context.Context, to, kind, blob, idempotencyKey string) (out relay.SendAnswer, err error) {
	err = a.call(ctx, request{
		method: "POST", path: "/relay/send", header: http.Header{"Idempotency-Key": {idempotencyKey}},
		body: map[string]string{
			"from": a.ID(), "to": to, "encrypted_blob": blob, "blob_hash": mmp.HashOf(blob).Prefixed(), "message_type": kind,
		},
	}, &out)
	return out, err
}

// SendMessage sends a message of the message layer, sealed; inReplyTo may be empty.
func (a *Agent) SendMessage(ctx context.Context, to, action string, payload any, inReplyTo string) (meeting.Message, Sent, error) {
	m, err := meeting.NewMessage(action, a.ID(), to, payload, a.opts.Now())
	if err != nil {
		return m, Sent{}, err
	}
	if inReplyTo != "" {
		m.InReplyTo = &inReplyTo
	}
	sent, err := a.Send(ctx, to, action, m)
	return m, sent, err
}

// Fates tells what became of the newest messages this agent sent.
func (a *Agent) Fates(ctx context.Context, limit int) (out relay.SentAnswer, err error) {
	err = a.call(ctx, request{method: "GET", path: "/relay/sent", query: url.Values{"agent_id": {a.ID()}, "limit": {fmt.Sprint(limit)}}}, &out)
	return out, err
}

// Fate tells what became of one.
func (a *Agent) Fate(ctx context.Context, relayID string) (relay.SentMessage, error) {
	var out relay.SentAnswer
	err := a.call(ctx, request{method: "GET", path: "/relay/sent", query: url.Values{"agent_id": {a.ID()}, "relay_id": {relayID}}}, &out)
	if err == nil && len(out.Messages) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return relay.SentMessage{}, err
	}
	return out.Messages[0], nil
}

// AcceptKey pins a key for an address, after a person has asked its owner. It must
// be the one the place shows now.
func (a *Agent) AcceptKey(ctx context.Context, address, keyID string) error {
	_, key, err := a.shownKey(ctx, address)
	if err != nil {
		return err
	}
	if !mmp.SameHash(key.KeyID(), keyID) {
		return &KeyChange{Address: address, Pinned: keyID, Now: key.KeyID()}
	}
	return a.opts.Peers.Accept(a.placeName(ctx), address, key.KeyID())
}

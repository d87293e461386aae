package mmpagent

import (
	"context"
	"fmt"
	"net/url"

	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/board"
)

// checkLog holds a key that the place shows to the place's own log: it is in there, not
// behind one that was seen before, and the log continues every head that anybody told us
// of. A place that ever had a log must show it.
func (a *Agent) checkLog(ctx context.Context, address string, k mmp.KeyAnswer, key *mmp.PublicKey) error {
	id, elsewhere := mmp.SplitAddress(address)
	if elsewhere != "" {
		return nil // the place holds its peer to the peer's log
	}
	info, err := a.Info(ctx)
	if err != nil || info.PlaceKey == nil {
		return nil //nolint:nilerr // a place without a key signs no log
	}
	if _, had := a.opts.Peers.head(*info.PlaceKey); !had && !a.offers(ctx, board.FeatureKeyLog) {
		return nil
	}
	if _, err := k.Log.Verify(id, key.KeyID()); err != nil {
		return fmt.Errorf("the key of %s: %w", address, err)
	}
	if k.Log.Head.PlaceKey != *info.PlaceKey {
		return fmt.Errorf("the key of %s: %w: another place signed the log", address, mmp.ErrPlaceUnproven)
	}
	if peer, ok := a.opts.Peers.Get(a.placeName(ctx), address); ok && k.Log.Index < peer.LogIndex {
		return fmt.Errorf("the key of %s: %w", address, mmp.ErrOlderKey)
	}
	return a.follow(ctx, k.Log.Head)
}

// follow goes on from the heads that are known of the place to a new one.
func (a *Agent) follow(ctx context.Context, head mmp.Head) error {
	for _, known := range a.opts.Peers.headsOf(head.PlaceKey) {
		older, newer := known, head
		if newer.Size < older.Size {
			older, newer = newer, older
		}
		var proof mmp.ConsistencyAnswer
		if older.Size > 0 && older.Size < newer.Size {
			v := url.Values{"from": {fmt.Sprint(older.Size)}, "to": {fmt.Sprint(newer.Size)}}
			if err := a.call(ctx, request{method: "GET", path: "/keys/log/consistency", query: v}, &proof); err != nil && !Refused(err) {
				return err
			}
		}
		if err := newer.Follows(older, proof.Proof); err != nil {
			return err
		}
	}
	return a.opts.Peers.follow(head)
}

// ownBinding looks whether the place has, for this agent, the key it brought.
func (a *Agent) ownBinding(ctx context.Context) error {
	if !a.offers(ctx, board.FeatureKeyLog) {
		return nil
	}
	k, key, err := a.shownKey(ctx, a.ID())
	if err != nil {
		return err
	}
	if mine := a.ring().RSA.Public().KeyID(); key.KeyID() != mine {
		return &KeyChange{Address: a.ID(), Pinned: mine, Now: key.KeyID()}
	}
	if err := a.checkLog(ctx, a.ID(), k, key); err != nil {
		return err
	}
	return a.exchangeHeads(ctx)
}

// exchangeHeads tells the place what other places' logs looked like, and hears what it
// has seen: a place that shows two histories is found by whoever compares.
func (a *Agent) exchangeHeads(ctx context.Context) error {
	var out mmp.SeenAnswer
	err := a.call(ctx, request{method: "POST", path: "/keys/log/seen", body: mmp.SeenAnswer{Heads: a.opts.Peers.heads()}, once: true}, &out)
	if err != nil {
		return nil //nolint:nilerr // comparing is a favour; the next place does it
	}
	return a.opts.Peers.heard(out.Heads)
}

// succession asks how an address came from a pinned key to the one it has now.
func (a *Agent) succession(ctx context.Context, address string, from, to *mmp.PublicKey) ([]string, error) {
	id, elsewhere := mmp.SplitAddress(address)
	if elsewhere != "" {
		return nil, mmp.ErrNotLogged
	}
	var h mmp.HistoryAnswer
	if err := a.call(ctx, request{method: "GET", path: "/keys/log/history", query: url.Values{"agent_id": {id}}}, &h); err != nil {
		return nil, err
	}
	if from == nil { // the id itself says whose key was first
		for _, l := range h.Bindings {
			if key, err := mmp.ParsePublicKey(l.PublicKey); err == nil && mmp.MayHave(id, key) {
				from = key
				break
			}
		}
	}
	if from == nil {
		return nil, mmp.ErrNotLogged
	}
	return mmp.Succession(id, h.Bindings, from, to)
}

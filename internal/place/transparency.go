package place

import (
	"context"
	"database/sql"

	"parley.internal/internal/audit"
	"parley.internal/internal/place/keylog"
	"parley.internal/internal/place/relay"
	"parley.internal/internal/store"
	"parley.internal/protocol/mmp"
)

// errTwoHistories is told when a place is peered with one that shows two faces.
var errTwoHistories = mmp.Error{Status: 502, Code: "two_histories", Text: "That place shows two histories of its keys"}

// logKey appends a new binding to the key log, with the key itself: neither is there
// without the other.
func (p *Place) logKey(tx *store.Tx, row keyRow, previous string, turned mmp.Binding) error {
	if err := relay.Lock(tx, []string{"keylog"}); err != nil {
		return err
	}
	return keylog.Append(tx, mmp.Binding{
		AgentID: row.agent, At: mmp.Stamp(p.now()), KeyID: row.keyID, Previous: previous, Proof: row.proof,
		RotationSignature: turned.RotationSignature, SuccessorSignature: turned.SuccessorSignature,
	}, row.pem)
}

// beginLog logs the keys that a hub without a log has taken, here or beside this one.
func (p *Place) beginLog(ctx context.Context) error {
	return p.write(ctx, func(tx *store.Tx) error {
		if err := relay.Lock(tx, []string{"keylog"}); err != nil {
			return err
		}
		var missing []keyRow
		err := tx.Each(func(r *sql.Rows) error {
			k, err := scanKey(r)
			if err == nil {
				missing = append(missing, *k)
			}
			return err
		}, `SELECT `+keyColumns+` FROM place_keys WHERE NOT EXISTS (SELECT 1 FROM place_key_log l WHERE l.agent = place_keys.agent AND l.key_id = place_keys.key_id) ORDER BY registered_at, agent`)
		for _, k := range missing {
			if err == nil {
				err = p.logKey(tx, k, "", mmp.Binding{})
			}
		}
		return err
	})
}

// KeyHead is the key log in one line. Everybody may have it, whatever the policy: the
// more compare it, the better.
func (p *Place) KeyHead(ctx context.Context) (h mmp.Head, err error) {
	err = p.read(ctx, func(tx *store.Tx) error {
		h, err = keylog.Head(tx, p.d.Key)
		return err
	})
	return h, err
}

// KeyConsistency shows that the key log only grew.
func (p *Place) KeyConsistency(ctx context.Context, from, to int64) (out mmp.ConsistencyAnswer, err error) {
	out.From, out.To = from, to
	err = p.read(ctx, func(tx *store.Tx) error {
		out.Proof, err = keylog.Consistency(tx, from, to)
		return err
	})
	return out, err
}

// KeyHistory lists every key an id has had here.
func (p *Place) KeyHistory(ctx context.Context, who Visitor, agent string) (out mmp.HistoryAnswer, err error) {
	if err := p.admit(who); err != nil {
		return out, err
	}
	err = p.read(ctx, func(tx *store.Tx) error {
		out.Bindings, err = keylog.History(tx, agent)
		return err
	})
	return out, err
}

// Heads lists what this place has seen of other places' key logs.
func (p *Place) Heads(ctx context.Context, who Visitor) (out mmp.SeenAnswer, err error) {
	if err := p.admit(who); err != nil {
		return out, err
	}
	err = p.read(ctx, func(tx *store.Tx) error {
		out.Heads, err = keylog.Heads(tx)
		return err
	})
	return out, err
}

// HandOver takes heads of other places from a visitor who saw them there, and answers
// with those that are known here.
func (p *Place) HandOver(ctx context.Context, who Visitor, heads []mmp.Head) (mmp.SeenAnswer, error) {
	if who.Agent == "" && !who.OfHub() {
		return mmp.SeenAnswer{}, mmp.ErrAuthRequired
	}
	for _, h := range heads {
		if err := p.sawHead(ctx, h, who.Agent); err != nil {
			return mmp.SeenAnswer{}, err
		}
	}
	return p.Heads(ctx, who)
}

// sawHead remembers a head; one that contradicts another is in the trail.
func (p *Place) sawHead(ctx context.Context, h mmp.Head, from string) error {
	if h.PlaceKey == mmp.FormatPeerKey(p.public) {
		return nil
	}
	return p.write(ctx, func(tx *store.Tx) error {
		if err := relay.Lock(tx, []string{"heads"}); err != nil {
			return err
		}
		two, err := keylog.Saw(tx, h, store.Micros(p.now()))
		if err != nil || !two {
			return err
		}
		return p.d.Trail.AppendTx(tx, audit.Entry{
			Actor: "agent:" + from, Action: audit.PlaceTwoHistories, Target: h.PlaceKey, Detail: map[string]any{"size": h.Size},
		})
	})
}

// checkRemoteKey holds a key that a peered place shows to that place's own log.
func (p *Place) checkRemoteKey(ctx context.Context, peer Peer, id string, k *mmp.KeyAnswer) error {
	in := k.Log
	k.Log = nil // it is the peer's, and our visitors know our key only
	if in == nil {
		return nil
	}
	if _, err := in.Verify(id, k.KeyID); err != nil || in.Head.PlaceKey != peer.Key {
		return mmp.ErrKeyNotFound
	}
	if err := p.sawHead(ctx, in.Head, peer.Name); err != nil {
		return err
	}
	var contradicted bool
	err := p.read(ctx, func(tx *store.Tx) (err error) {
		contradicted, err = keylog.Contradicted(tx, peer.Key)
		return err
	})
	if err == nil && contradicted {
		err = errTwoHistories
	}
	return err
}

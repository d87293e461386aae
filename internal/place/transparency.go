package place

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"parley.internal/internal/audit"
	"parley.internal/internal/place/keylog"
	"parley.internal/internal/place/relay"
	"parley.internal/internal/store"
	"parley.internal/protocol/mmp"
)

// What is told of a peered place that shows two faces, or no longer shows what it had.
var (
	errTwoHistories = mmp.Error{Status: 502, Code: "two_histories", Text: "That place shows two histories of its keys"}
	errNoLog        = mmp.Error{Status: 502, Code: "no_key_log", Text: "That place does not show the log of its keys"}
)

// logPath is where a place shows its key log.
const logPath = "/place/v1/keys/log"

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
		known, err := p.headsOf(ctx, peer.Key)
		if err == nil && len(known) > 0 {
			err = errNoLog // it had one
		}
		return err
	}
	if _, err := in.Verify(id, k.KeyID); err != nil || in.Head.PlaceKey != peer.Key {
		return mmp.ErrKeyNotFound
	}
	return p.followPeer(ctx, peer, in.Head)
}

func (p *Place) headsOf(ctx context.Context, placeKey string) (out []mmp.Head, err error) {
	err = p.read(ctx, func(tx *store.Tx) error {
		out, err = keylog.HeadsOf(tx, placeKey)
		return err
	})
	return out, err
}

// comparePeer looks whether a peered place still has the history it had, by whatever this
// place or its visitors have seen of it.
func (p *Place) comparePeer(ctx context.Context, peer Peer) error {
	status, body, err := p.call(ctx, peer, "GET", logPath+"/head", nil)
	if err != nil {
		return errPeerAway
	}
	if status == 404 { // a place without a log; one that had one must show it
		known, err := p.headsOf(ctx, peer.Key)
		if err == nil && len(known) > 0 {
			err = errNoLog
		}
		return err
	}
	var head mmp.Head
	if status != 200 || mmp.Decode(body, &head) != nil || head.PlaceKey != peer.Key || head.Verify() != nil {
		return errNoLog
	}
	return p.followPeer(ctx, peer, head)
}

// followPeer holds a head of a peered place against every one that is known of it. Two that
// do not continue each other stay, as the proof, and so does the refusal.
func (p *Place) followPeer(ctx context.Context, peer Peer, head mmp.Head) error {
	known, err := p.headsOf(ctx, peer.Key)
	if err != nil {
		return err
	}
	for _, k := range known {
		if err := p.continues(ctx, peer, k, head); err != nil {
			if errors.Is(err, mmp.ErrTwoHistories) {
				err = p.twoHistories(ctx, peer, head)
			}
			return err
		}
	}
	if err := p.sawHead(ctx, head, peer.Name); err != nil || len(known) == 0 {
		return err
	}
	return p.write(ctx, func(tx *store.Tx) error { return keylog.Superseded(tx, head, known) })
}

// continues asks the peer to show that the longer of two of its logs continues the shorter.
func (p *Place) continues(ctx context.Context, peer Peer, one, other mmp.Head) error {
	older, newer := one, other
	if newer.Size < older.Size {
		older, newer = newer, older
	}
	var proof mmp.ConsistencyAnswer
	if older.Size > 0 && older.Size < newer.Size {
		status, body, err := p.call(ctx, peer, "GET", fmt.Sprintf("%s/consistency?from=%d&to=%d", logPath, older.Size, newer.Size), nil)
		if err != nil || status >= 500 || status == 429 {
			return errPeerAway
		}
		if status == 200 && mmp.Decode(body, &proof) != nil {
			return errPeerAway
		}
	}
	return newer.Follows(older, proof.Proof)
}

// twoHistories notes the proof, once in the trail.
func (p *Place) twoHistories(ctx context.Context, peer Peer, head mmp.Head) error {
	if err := p.sawHead(ctx, head, peer.Name); err != nil {
		return err
	}
	if peer.Problem == errTwoHistories.Text {
		return errTwoHistories
	}
	err := p.problem(ctx, peer, errTwoHistories)
	if err == nil {
		err = p.write(ctx, func(tx *store.Tx) error {
			return p.d.Trail.AppendTx(tx, audit.Entry{Actor: "place:" + peer.Name, Action: audit.PlaceTwoHistories, Target: head.PlaceKey, Detail: map[string]any{"size": head.Size}})
		})
	}
	if err != nil {
		return err
	}
	return errTwoHistories
}

package place

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"time"

	"parley.internal/internal/store"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/board"
)

// How often a peer is asked who is there, and for how long its silence is borne.
const (
	refreshEvery = 30 * time.Second
	remoteLife   = 2 * time.Minute
)

// errPeerAway says that a peered place did not answer usefully.
var errPeerAway = mmp.Error{Status: 503, Code: "peer_unreachable", Text: "The peered place cannot be reached"}

// call makes a signed call to a peer.
func (p *Place) call(ctx context.Context, peer Peer, method, target string, body []byte) (int, []byte, error) {
	if p.d.Peers == nil {
		return 0, nil, errPeerOff
	}
	c := mmp.PeerCall{Method: method, Target: target, Body: body, Time: mmp.Stamp(p.now()), Nonce: mmp.NewNonce(), From: p.id, To: peer.PlaceID}
	sig, err := c.Sign(p.d.Key)
	if err != nil {
		return 0, nil, err
	}
	return p.d.Peers.Call(ctx, OutboundCall{
		URL: peer.URL, Method: method, Target: target, Body: body, Peer: p.id, Time: c.Time, Nonce: c.Nonce, Sig: sig,
	})
}

// refresh asks a peer who is there.
func (p *Place) refresh(ctx context.Context, peer Peer) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	status, body, err := p.call(ctx, peer, "GET", peerPath+"/agents", nil)
	var answer board.AgentsAnswer
	switch {
	case err != nil:
		err = fmt.Errorf("not reachable: %w", err)
	case status == 401:
		err = errors.New("it does not know us: its operator must add this place too")
	case status != 200:
		err = fmt.Errorf("it answered %d", status)
	default:
		err = mmp.Decode(body, &answer)
	}
	if err == nil {
		err = p.comparePeer(ctx, peer)
	}
	if err != nil {
		return p.problem(ctx, peer, err)
	}
	return p.keepRemote(ctx, peer, answer.Agents)
}

func (p *Place) problem(ctx context.Context, peer Peer, cause error) error {
	text := cause.Error()
	if len(text) > 300 {
		text = text[:300]
	}
	return p.write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE place_peers SET problem = ? WHERE name = ?`, text, peer.Name)
		return err
	})
}

func (p *Place) keepRemote(ctx context.Context, peer Peer, agents []board.Agent) error {
	now := store.Micros(p.now())
	return p.write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(`UPDATE place_peers SET seen_at = ?, problem = '' WHERE name = ?`, now, peer.Name); err != nil {
			return err
		}
		if _, err := tx.Exec(`DELETE FROM place_remote WHERE peer = ?`, peer.Name); err != nil {
			return err
		}
		for i, a := range agents {
			if i >= maxListed || !mmp.ValidID(a.ID) || shown("name", a.Name, "scope", a.Scope) != nil || clean("description", a.Description) != nil {
				continue // a peer speaks for its own agents only: no second '@'
			}
			encoded, err := mmp.Encode(a)
			if err != nil {
				continue
			}
			if _, err := tx.Exec(`INSERT INTO place_remote (peer, id, agent, seen_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`, peer.Name, a.ID, string(encoded), now); err != nil {
				return err
			}
		}
		return nil
	})
}

const remoteQuery = `SELECT r.peer, r.id, r.agent FROM place_remote r WHERE r.seen_at > ?`

// eachRemote calls fn for agents of peered places until it says stop.
func (p *Place) eachRemote(tx *store.Tx, fn func(board.Agent) bool) error {
	if !p.c.Federation {
		return nil
	}
	errStop := errors.New("enough")
	err := tx.Each(func(r *sql.Rows) error {
		a, err := scanRemote(r)
		if err != nil {
			return err
		}
		if !fn(a) {
			return errStop
		}
		return nil
	}, remoteQuery+` ORDER BY r.peer, r.id`, store.Micros(p.now().Add(-remoteLife)))
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

func scanRemote(r store.Row) (a board.Agent, err error) {
	var peer, id, encoded string
	if err = r.Scan(&peer, &id, &encoded); err != nil {
		return a, err
	}
	if err = mmp.Decode([]byte(encoded), &a); err != nil {
		return a, err
	}
	level := "L1"
	a.ID, a.Place, a.IsSelf, a.Trust, a.Proven = id+"@"+peer, &peer, false, &level, true
	return a, nil
}

func (p *Place) remoteAgent(ctx context.Context, id, peer string) (a board.Agent, err error) {
	err = p.read(ctx, func(tx *store.Tx) error {
		a, err = scanRemote(tx.QueryRow(remoteQuery+` AND r.peer = ? AND r.id = ?`, store.Micros(p.now().Add(-remoteLife)), peer, id))
		if noRows(err) {
			err = mmp.ErrAgentNotFound
		}
		return err
	})
	return a, err
}

// remoteKey asks the peer; keys are not kept here, so none can be stale.
func (p *Place) remoteKey(ctx context.Context, id, name string) (mmp.KeyAnswer, error) {
	var out mmp.KeyAnswer
	peer, err := p.peer(ctx, name)
	if err != nil {
		return out, mmp.ErrKeyNotFound
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	status, body, err := p.call(ctx, peer, "GET", peerPath+"/keys/"+url.PathEscape(id), nil)
	switch {
	case err != nil:
		return out, errPeerAway
	case status == 404:
		return out, mmp.ErrKeyNotFound
	case status != 200 || mmp.Decode(body, &out) != nil:
		return out, errPeerAway
	}
	out.AgentID = id + "@" + name
	return out, p.checkRemoteKey(ctx, peer, id, &out)
}

func (p *Place) peer(ctx context.Context, name string) (peer Peer, err error) {
	err = p.read(ctx, func(tx *store.Tx) error {
		peer, err = scanPeer(tx.QueryRow(`SELECT `+peerColumns+` FROM place_peers WHERE name = ?`, name))
		if noRows(err) {
			err = errPeerGone
		}
		return err
	})
	return peer, err
}

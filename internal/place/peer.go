package place

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/identity"
	"parley.internal/internal/place/relay"
	"parley.internal/internal/store"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/board"
	wire "parley.internal/protocol/mmp/relay"
)

// Calls between places, under this path.
const peerPath = "/place/v1/peer"

// Refusals of peering.
var (
	errPeerCall  = mmp.Error{Status: 401, Code: "peer_call_refused", Text: "The call between places does not verify"}
	errPeerOff   = mmp.Error{Status: 403, Code: "federation_off", Text: "This place is not federated"}
	errPeerBad   = mmp.Error{Status: 400, Code: "invalid_peer", Text: "A peer needs a name of a-z, 0-9 and -, an https address and its ed25519 key"}
	errPeerGone  = mmp.Error{Status: 404, Code: "peer_not_found", Text: "No such peer"}
	errPeerTaken = mmp.Error{Status: 409, Code: "peer_exists", Text: "A peer of that name or key exists"}
	errExpired   = mmp.Error{Status: 400, Code: "expired", Text: "The message has expired"}
)

// AddPeer starts peering. Nothing travels before the other operator did the same.
func (p *Place) AddPeer(ctx context.Context, who Visitor, peer Peer) (Peer, error) {
	if err := who.mustRun(); err != nil {
		return peer, err
	}
	if !p.c.Federation {
		return peer, errPeerOff
	}
	key, err := mmp.ParsePeerKey(peer.Key)
	if err != nil || !mmp.ValidPlaceName(peer.Name) || key.Equal(p.public) {
		return peer, errPeerBad
	}
	if peer.URL, err = peerURL(peer.URL); err != nil {
		return peer, errPeerBad
	}
	peer.Key, peer.PlaceID, peer.Added = mmp.FormatPeerKey(key), mmp.PlaceIDOf(key), p.now()
	err = p.write(ctx, func(tx *store.Tx) error {
		var n int
		if err := tx.QueryRow(`SELECT count(*) FROM place_peers WHERE name = ? OR place_id = ?`, peer.Name, peer.PlaceID).Scan(&n); err != nil {
			return err
		}
		if n > 0 {
			return errPeerTaken
		}
		if _, err := tx.Exec(`INSERT INTO place_peers (name, url, key, place_id, added_at, seen_at, problem) VALUES (?, ?, ?, ?, ?, 0, '')`,
			peer.Name, peer.URL, peer.Key, peer.PlaceID, store.Micros(peer.Added)); err != nil {
			return err
		}
		if err := p.note(tx, board.AuditEntry{EventType: board.AuditPeer, Action: "add", Peer: peer.Name}); err != nil {
			return err
		}
		return p.d.Trail.AppendTx(tx, audit.Entry{Actor: who.Actor.String(), Action: audit.PlacePeerAdded, Target: peer.Name, Detail: map[string]any{"url": peer.URL, "place_id": peer.PlaceID}})
	})
	if err == nil {
		p.nudgeOutbox()
	}
	return peer, err
}

// peerURL wants https, or http on this machine.
func peerURL(s string) (string, error) {
	u, err := url.Parse(strings.TrimRight(s, "/"))
	if err != nil || u.Host == "" || u.Path != "" || u.RawQuery != "" || u.User != nil {
		return "", fmt.Errorf("not the address of a place")
	}
	loopback := u.Hostname() == "localhost"
	if ip := net.ParseIP(u.Hostname()); ip != nil {
		loopback = ip.IsLoopback()
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !loopback) {
		return "", fmt.Errorf("not https")
	}
	return u.String(), nil
}

// RemovePeer ends peering at once: its agents are gone, and what waited for them is
// refused.
func (p *Place) RemovePeer(ctx context.Context, who Visitor, name string) error {
	if err := who.mustRun(); err != nil {
		return err
	}
	return p.storage(p.relay.RefuseAll(ctx, name, "peer_removed", func(tx *store.Tx) error {
		n, err := tx.Exec(`DELETE FROM place_peers WHERE name = ?`, name)
		if err == nil && n == 0 {
			err = errPeerGone
		}
		if err != nil {
			return err
		}
		if _, err := tx.Exec(`DELETE FROM place_remote WHERE peer = ?`, name); err != nil {
			return err
		}
		if err := p.note(tx, board.AuditEntry{EventType: board.AuditPeer, Action: "remove", Peer: name}); err != nil {
			return err
		}
		return p.d.Trail.AppendTx(tx, audit.Entry{Actor: who.Actor.String(), Action: audit.PlacePeerRemoved, Target: name})
	}))
}

const peerColumns = `name, url, key, place_id, added_at, seen_at, problem`

func scanPeer(r store.Row) (peer Peer, err error) {
	var added, seen int64
	err = r.Scan(&peer.Name, &peer.URL, &peer.Key, &peer.PlaceID, &added, &seen, &peer.Problem)
	peer.Added, peer.Seen = store.Time(added), store.Time(seen)
	return peer, err
}

// Peers lists the places this one is peered with.
func (p *Place) Peers(ctx context.Context, who Visitor) ([]Peer, error) {
	if err := who.mustRun(); err != nil {
		return nil, err
	}
	var out []Peer
	err := p.read(ctx, func(tx *store.Tx) error {
		err := tx.Each(store.IntoBy(&out, scanPeer), `SELECT `+peerColumns+` FROM place_peers ORDER BY name`)
		for i := range out {
			if err == nil {
				err = tx.QueryRow(`SELECT count(*) FROM place_remote WHERE peer = ? AND seen_at > ?`, out[i].Name, store.Micros(p.now().Add(-remoteLife))).Scan(&out[i].Agents)
			}
			if err == nil {
				out[i].Waiting, err = p.relay.Outgoing(tx, out[i].Name)
			}
		}
		return err
	})
	return out, err
}

// PeerCall verifies a call of a peered place: known, signed by its key, for us,
// now, and for the first time.
func (p *Place) PeerCall(ctx context.Context, call InboundCall) (Peer, error) {
	if !p.c.Federation {
		return Peer{}, errPeerOff
	}
	if clean("peer", call.Peer, "nonce", call.Nonce) != nil || len(call.Nonce) < 16 || len(call.Nonce) > mmp.MaxID {
		return Peer{}, errPeerCall
	}
	var peer Peer
	err := p.read(ctx, func(tx *store.Tx) (err error) {
		peer, err = scanPeer(tx.QueryRow(`SELECT `+peerColumns+` FROM place_peers WHERE place_id = ?`, call.Peer))
		if noRows(err) {
			err = errPeerCall
		}
		return err
	})
	if err != nil {
		return Peer{}, err
	}
	key, err := mmp.ParsePeerKey(peer.Key)
	if err != nil {
		return Peer{}, err
	}
	signed := mmp.PeerCall{Method: call.Method, Target: call.Target, Body: call.Body, Time: call.Time, Nonce: call.Nonce, From: peer.PlaceID, To: p.id}
	if signed.Verify(key, call.Sig, p.now()) != nil {
		p.d.Trail.Note(audit.Entry{Actor: "place:" + peer.Name, Action: audit.PlacePeerRefused, Target: call.Target, Outcome: "bad_signature"})
		return Peer{}, errPeerCall
	}
	if ok, wait := p.usePeer(peer.Name, len(call.Body)); !ok {
		return Peer{}, mmp.ErrRateLimited.WithRetry(retryIn(wait))
	}
	return peer, p.once(ctx, peer, call.Nonce)
}

// once refuses a nonce that was used before.
func (p *Place) once(ctx context.Context, peer Peer, nonce string) error {
	return p.write(ctx, func(tx *store.Tx) error {
		n, err := tx.Exec(`INSERT INTO place_nonces (nonce, agent, expires_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`,
			peer.PlaceID+" "+nonce, peer.PlaceID, store.Micros(p.now().Add(3*mmp.PeerSkew)))
		if err == nil && n == 0 {
			err = errPeerCall
		}
		return err
	})
}

// PeerAgents lists what a peer may show of us: proven agents that did not opt out.
func (p *Place) PeerAgents(ctx context.Context, _ Peer) (board.AgentsAnswer, error) {
	out := board.AgentsAnswer{Agents: []board.Agent{}}
	err := p.read(ctx, func(tx *store.Tx) error {
		return p.eachAgent(tx, func(a *agentRow) bool {
			if a.proven && federates(a.metadata) {
				shown := p.show(Visitor{}, a)
				shown.Trust = nil
				out.Agents = append(out.Agents, shown)
			}
			return true
		})
	})
	out.Count = len(out.Agents)
	return out, err
}

func federates(metadata string) bool {
	if metadata == "" {
		return true
	}
	var m struct {
		Federate *bool `json:"federate"`
	}
	if mmp.Decode([]byte(metadata), &m) != nil {
		return true
	}
	return m.Federate == nil || *m.Federate
}

// PeerKey answers a peer's question for one of our keys.
func (p *Place) PeerKey(ctx context.Context, _ Peer, agent string) (mmp.KeyAnswer, error) {
	if !mmp.ValidID(agent) {
		return mmp.KeyAnswer{}, mmp.ErrKeyNotFound
	}
	k, err := p.Key(ctx, Visitor{Actor: identity.Hub()}, agent)
	if err == nil && !k.Proven {
		err = mmp.ErrKeyNotFound
	}
	return k, err
}

// PeerRelay takes a message a peer forwards for one of its own agents.
func (p *Place) PeerRelay(ctx context.Context, from Peer, f Forwarded) (wire.SendAnswer, error) {
	if !mmp.ValidID(f.From) || !mmp.ValidID(f.To) { // one hop, one '@'
		return wire.SendAnswer{}, mmp.ErrInvalidID
	}
	now := p.now()
	switch {
	case f.RelayID == "" || len(f.RelayID) > mmp.MaxIdempotency || clean("id", f.RelayID, "type", f.Type) != nil || len(f.Type) > 4*mmp.MaxMessageType:
		return wire.SendAnswer{}, mmp.InvalidField("relay_id")
	case f.Blob == "":
		return wire.SendAnswer{}, mmp.ErrBlobEmpty
	case len(f.Blob) > mmp.MaxBlob:
		return wire.SendAnswer{}, mmp.ErrBlobTooLarge
	case !mmp.HashFits(f.BlobHash, f.Blob):
		return wire.SendAnswer{}, mmp.ErrBlobHash
	case !f.ExpiresAt.After(now):
		return wire.SendAnswer{}, errExpired
	}
	sender := f.From + "@" + from.Name
	return p.queue(ctx, &relay.Sending{Who: Visitor{Agent: sender, Proven: true}, Message: &relay.Message{
		Sender: sender, Recipient: f.To, Kind: f.Type, Hash: f.BlobHash, Size: int64(len(f.Blob)), Blob: []byte(f.Blob),
		Key: f.RelayID, Created: now, Expires: earlier(f.ExpiresAt.Time, now.Add(p.c.RelayTTL)),
	}})
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

package skill

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"slices"

	"parley.internal/internal/approval"
	"parley.internal/internal/place"
	"parley.internal/internal/store"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/meeting"
)

// Known tells whether a message type is an action of the standard extensions.
func Known(action string) bool {
	for _, d := range meeting.StandardExtensions() {
		if slices.Contains(d.Actions, action) {
			return true
		}
	}
	return false
}

// Relayed handles what came for an agent by a place's relay. It is durable when it
// returns nil, and may be acknowledged.
func (s *Skills) Relayed(ctx context.Context, agent, at string, from place.Sender, id string, got meeting.FromRelay) error {
	if got.Message == nil {
		return s.noted(ctx, agent, at, from, id, got.Note)
	}
	_, err := s.handle(ctx, agent, at, from, *got.Message)
	return err
}

// questionID names a question by what it is about, so that it is asked once.
func questionID(parts ...string) string {
	sum := sha256.New()
	for _, p := range parts {
		sum.Write([]byte(p + "\n"))
	}
	return "skill-" + hex.EncodeToString(sum.Sum(nil)[:16])
}

// KeyChanged is told when a place shows another key for a peer than the pinned one.
func (s *Skills) KeyChanged(ctx context.Context, agent, at, peer, was, now string) error {
	h, err := s.host(agent)
	if err != nil {
		return err
	}
	err = s.d.DB.Write(ctx, func(tx *store.Tx) error {
		p, err := loadPeer(tx, h.ID, peer)
		if err != nil {
			return err
		}
		if p.keyID == "" {
			p.keyID = was
		}
		p.changedKey, p.place = now, at
		return p.save(tx, h.ID, peer, store.Micros(s.now()))
	})
	if err == nil {
		s.askKey(ctx, h, at, peer, was, now)
	}
	return err
}

// askKey asks a person to look at a changed key; until then the peer is a stranger.
func (s *Skills) askKey(ctx context.Context, h Host, at, peer, was, now string) {
	args, err := json.Marshal(map[string]string{"address": peer, "pinned": was, "now": now})
	question := questionID("key", h.ID, peer, now)
	if err == nil {
		err = s.question(ctx, h.Name, approval.Request{
			ID: question, Kind: approval.KindNote, Title: "The key of " + peer + " has changed", Arguments: args, Target: h.Name,
			Reason: "somebody else may be behind this address; compare the keys with its owner before you accept the new one", RequestedBy: "hub", Timeout: 7 * day,
		})
	}
	if err != nil {
		s.d.Log.Warn("skills: asking about a key", "error", err)
		return
	}
	s.await(question, func(ctx context.Context, o approval.Outcome) error {
		if !o.Approved() {
			return nil
		}
		return s.acceptKey(ctx, h, at, peer, now)
	})
}

func (s *Skills) acceptKey(ctx context.Context, h Host, at, peer, key string) error {
	err := s.d.DB.Write(ctx, func(tx *store.Tx) error {
		p, err := loadPeer(tx, h.ID, peer)
		if err != nil {
			return err
		}
		p.keyID, p.changedKey = key, ""
		return p.save(tx, h.ID, peer, store.Micros(s.now()))
	})
	if line := s.line(h.ID, at); err == nil && line != nil {
		err = line.AcceptKey(ctx, peer, key)
	}
	return err
}

// chainKeys fetches the keys of a provenance's chain, before any transaction.
func (s *Skills) chainKeys(ctx context.Context, h Host, at string, m meeting.Message) map[string]*mmp.PublicKey {
	line := s.line(h.ID, at)
	if line == nil {
		return nil
	}
	var chain []string
	switch m.Action {
	case meeting.ActionSkillContent:
		if p, err := m.ReadSkillContent(); err == nil && p.Provenance != nil {
			chain = p.Provenance.Chain
		}
	case meeting.ActionShareExtension:
		if p, err := m.ReadShareExtension(); err == nil && p.Provenance != nil {
			chain = p.Provenance.Chain
		}
	}
	keys := map[string]*mmp.PublicKey{}
	for _, id := range chain[:min(len(chain), mmp.MaxHops+1)] {
		if id == h.ID {
			keys[id] = h.Ring.RSA.Public()
		} else if mmp.ValidAddress(id) {
			keys[id] = line.Key(ctx, id)
		}
	}
	return keys
}

// sweepKeys asks again about keys that changed, for whoever was not asked yet or
// answered while the hub was away.
func (s *Skills) sweepKeys(ctx context.Context, h Host) error {
	changed := map[string]peer{}
	err := s.d.DB.Read(ctx, func(tx *store.Tx) error {
		clear(changed)
		return tx.Each(func(row *sql.Rows) error {
			var id string
			var p peer
			err := row.Scan(&id, &p.keyID, &p.changedKey, &p.place)
			changed[id] = p
			return err
		}, `SELECT peer, key_id, changed_key, place FROM skill_peers WHERE me = ? AND changed_key <> '' LIMIT 1000`, h.ID)
	})
	for id, p := range changed {
		if !s.awaited(questionID("key", h.ID, id, p.changedKey)) {
			s.askKey(ctx, h, p.place, id, p.keyID, p.changedKey)
		}
	}
	return err
}

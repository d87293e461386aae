package skill

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"parley/internal/approval"
	"parley/internal/place"
	"parley/internal/store"
	"parley/protocol/mmp"
)

// Known tells whether a message type is an action of the standard extensions.
func Known(action string) bool {
	for _, d := range mmp.StandardExtensions() {
		if slices.Contains(d.Actions, action) {
			return true
		}
	}
	return false
}

// Relayed handles what came for an agent by a place's relay. It is durable when it
// returns nil, and may be acknowledged.
func (s *Skills) Relayed(ctx context.Context, agent, at string, from place.Sender, id string, got mmp.FromRelay) error {
	if got.Message == nil {
		return s.noted(ctx, agent, at, from, id, got.Note)
	}
	_, err := s.handle(ctx, agent, at, from, *got.Message)
	return err
}

// ActionNote is the type of a plain text from one agent to another; it travels as
// the text alone.
const ActionNote = "note"

// maxNote is how much of a note is kept.
const maxNote = 16_000

// noted keeps a note. One of a trusted peer reaches the agent at once, one of a
// proven peer after a person said so, one of a stranger never.
func (s *Skills) noted(ctx context.Context, agent, at string, from place.Sender, id, text string) error {
	h, err := s.host(agent)
	if err != nil {
		return err
	}
	level, err := s.believed(ctx, from)
	if err != nil {
		return err
	}
	text = clean(clip(text, maxNote))
	var t *turn
	var fresh, ask bool
	err = s.d.DB.Write(ctx, func(tx *store.Tx) error {
		m := mmp.Message{ID: id, Action: ActionNote, From: from.ID}
		t = &turn{s: s, tx: tx, host: h, from: from, place: at, level: level, m: m, now: s.now()}
		fresh, ask = false, false
		if _, again, err := t.seen(); err != nil || again {
			return err
		}
		if err := t.pin(); err != nil {
			return err
		}
		if err := t.peer.save(tx, h.ID, from.ID, store.Micros(t.now)); err != nil {
			return err
		}
		fresh = true
		if t.level == L1 {
			if ask, err = t.mayAskInbox(); err != nil {
				return err
			}
		}
		if ask {
			t.note = "asked"
		}
		return t.record(mmp.Result{Status: mmp.ResultReceived, Action: ActionNote, From: from.ID, Fields: map[string]any{"text": text}})
	})
	if err != nil || !fresh {
		return err
	}
	s.after(ctx, t)
	switch {
	case t.level == L0:
		s.deliver(h, at, from.ID, t.level, text)
	case ask:
		s.askNote(ctx, h, at, from.ID, id, t.level, text)
	}
	return nil
}

// askNote asks a person whether the agent should read a note.
func (s *Skills) askNote(ctx context.Context, h Host, at, peer, id string, level Level, text string) {
	args, err := json.Marshal(map[string]any{"from": peer, "level": level, "text": Visible(text)})
	if err == nil {
		question := questionID("note", h.ID, peer, id)
		err = s.question(ctx, approval.Request{
			ID: question, Kind: approval.KindNote, Title: "A note from " + peer, Arguments: args, Target: h.Name, RequestedBy: "agent:" + h.Name, Timeout: day,
		})
		if err == nil {
			s.await(question, func(_ context.Context, o approval.Outcome) error {
				if o.Approved() {
					s.deliver(h, at, peer, level, text)
				}
				return nil
			})
		}
	}
	if err != nil {
		s.d.Log.Warn("skills: asking about a note", "error", err)
	}
}

// deliver gives a note to the agent, in the background, and sends its answer.
func (s *Skills) deliver(h Host, at, peer string, level Level, text string) {
	s.mu.Lock()
	run := s.run
	s.mu.Unlock()
	if run == nil || s.d.Deliver == nil {
		return
	}
	s.done.Go(func() {
		answer, err := s.d.Deliver(run, h.Name, peer, level, text)
		if err != nil || answer == "" {
			if err != nil && run.Err() == nil {
				s.d.Log.Warn("skills: a note for an agent", "agent", h.Name, "error", err)
			}
			return
		}
		err = s.speak(run, h.Name, peer, func(tx *store.Tx, h Host) error {
			t := &turn{s: s, tx: tx, host: h, from: place.Sender{ID: peer}}
			n, err := t.count(store.Micros(s.now().Add(-time.Hour)), `outgoing = 1 AND auto = 1`)
			if err != nil || n >= autoHour {
				return err // two agents that answer each other come to an end
			}
			m, err := mmp.NewMessage(ActionNote, h.ID, peer, map[string]string{"text": answer}, s.now())
			if err != nil {
				return err
			}
			return s.enqueue(tx, h, at, m, true)
		})
		if err != nil && run.Err() == nil {
			s.d.Log.Warn("skills: answering a note", "error", err)
		}
	})
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
		p.changedKey = now
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
		err = s.question(ctx, approval.Request{
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
func (s *Skills) chainKeys(ctx context.Context, h Host, at string, m mmp.Message) map[string]*mmp.PublicKey {
	line := s.line(h.ID, at)
	if line == nil {
		return nil
	}
	var chain []string
	switch m.Action {
	case mmp.ActionSkillContent:
		if p, err := m.ReadSkillContent(); err == nil && p.Provenance != nil {
			chain = p.Provenance.Chain
		}
	case mmp.ActionShareExtension:
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

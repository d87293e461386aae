package skill

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"

	"parley.internal/internal/place"
	"parley.internal/internal/store"
	"parley.internal/protocol/mmp/meeting"
)

// peer is what an agent knows of another.
type peer struct {
	keyID, changedKey string
	place             string // where another key was seen
	extensions        []string
	introduced        int64
}

func loadPeer(tx *store.Tx, me, id string) (peer, error) {
	var p peer
	var extensions string
	err := tx.QueryRow(`SELECT key_id, changed_key, place, extensions, introduced_at FROM skill_peers WHERE me = ? AND peer = ?`, me, id).
		Scan(&p.keyID, &p.changedKey, &p.place, &extensions, &p.introduced)
	if errors.Is(err, sql.ErrNoRows) {
		return peer{}, nil
	}
	if err != nil {
		return p, err
	}
	return p, json.Unmarshal([]byte(extensions), &p.extensions)
}

func (p peer) save(tx *store.Tx, me, id string, seen int64) error {
	extensions, err := json.Marshal(append([]string{}, p.extensions...))
	if err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO skill_peers (me, peer, key_id, changed_key, place, extensions, introduced_at, seen_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (me, peer) DO UPDATE SET key_id = excluded.key_id, changed_key = excluded.changed_key, place = excluded.place,
		extensions = excluded.extensions, introduced_at = excluded.introduced_at, seen_at = excluded.seen_at`,
		me, id, p.keyID, p.changedKey, p.place, string(extensions), p.introduced, seen)
	return err
}

// believed is how far the sender's word goes, before the pin is looked at. Envelope
// 1 proves nobody's hand, and a static proof can be replayed: neither is ever L0.
func (s *Skills) believed(ctx context.Context, from place.Sender) (Level, error) {
	if !from.Proven {
		return L2, nil
	}
	if from.KeyID == "" || from.Version == 1 {
		return L1, nil
	}
	trusted, err := s.d.Trust.TrustedKey(ctx, from.KeyID)
	if err != nil || !trusted {
		return L1, err
	}
	if from.Version == 2 { // signed
		return L0, nil
	}
	how, err := s.d.Trust.ProvenBy(ctx, from.ID)
	if err != nil || how != "challenge" {
		return L1, err
	}
	return L0, nil
}

// pin holds the sender to the key it had first. Another one makes it a stranger
// until a person looks.
func (t *turn) pin() error {
	p, err := loadPeer(t.tx, t.host.ID, t.from.ID)
	if err != nil {
		return err
	}
	switch {
	case t.from.KeyID == "" || !t.from.Proven:
		if p.changedKey != "" {
			t.level = L2
		}
	case p.keyID == "" || slices.Contains(t.from.Earlier, p.keyID):
		p.keyID, p.changedKey = t.from.KeyID, ""
	case p.keyID != t.from.KeyID:
		t.level = L2
		if p.changedKey != t.from.KeyID {
			p.changedKey, p.place = t.from.KeyID, t.place
			t.alarm = &keyChange{was: p.keyID, now: t.from.KeyID}
		}
	default:
		p.changedKey = ""
	}
	t.peer = p
	return nil
}

// keyChange is a question for a person.
type keyChange struct{ was, now string }

// count counts what a peer did since a time.
func (t *turn) count(since int64, where string, args ...any) (int, error) {
	var n int
	err := t.tx.QueryRow(`SELECT count(*) FROM skill_messages WHERE me = ? AND peer = ? AND at > ? AND `+where,
		append([]any{t.host.ID, t.from.ID, since}, args...)...).Scan(&n)
	return n, err
}

// mayAskInbox tells whether the peer may put one more question before a person.
func (t *turn) mayAskInbox() (bool, error) {
	switch t.level {
	case L0:
		return true, nil
	case L2:
		return false, nil
	}
	n, err := t.count(store.Micros(t.now.Add(-day)), `outgoing = 0 AND note = 'asked'`)
	return n < l1InboxDay, err
}

// roomFor tells whether one more skill of the peer may wait. Strangers share the room
// of one peer that proved its key: they take new names as they like.
func (t *turn) roomFor(size int) (bool, error) {
	whose, args := `sender = ?`, []any{t.host.ID, t.from.ID}
	switch t.level {
	case L0:
		return true, nil
	case L2:
		whose, args = `level = ?`, []any{t.host.ID, string(L2)}
	}
	var n, bytes int64
	err := t.tx.QueryRow(`SELECT count(*), COALESCE(sum(size), 0) FROM skill_items WHERE me = ? AND state = 'quarantined' AND `+whose, args...).Scan(&n, &bytes)
	return n < l1Waiting && bytes+int64(size) <= l1Bytes, err
}

// formats are the further ones this peer may send.
func (t *turn) formats() []string {
	if t.level == L0 {
		return t.s.c.AllowFormats
	}
	return nil
}

// shares tells whether the peer said it has an extension; one that never introduced
// itself is taken to have what it uses.
func (p peer) shares(extension string) bool {
	if p.introduced == 0 {
		return true
	}
	return len(meeting.CommonExtensions([]string{extension}, p.extensions)) > 0
}

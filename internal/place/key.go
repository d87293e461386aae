package place

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/place/keylog"
	"parley.internal/internal/place/relay"
	"parley.internal/internal/store"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/board"
)

// The kinds of proof a pin may rest on.
const (
	proofStatic    = "static"
	proofChallenge = "challenge"
)

// keyRow is an agent's key as it is kept.
type keyRow struct {
	agent, pem, keyID, fingerprint, previous string
	entry                                    mmp.SignedEntry
	proof                                    string
	registered, changed, proven              time.Time
}

// isHeld: some proof was shown, and less than that does not open the id again.
func (k *keyRow) isHeld() bool { return k != nil && !k.proven.IsZero() }

// isProven: the proof was a challenge. A static signature is anybody's who saw it.
func (k *keyRow) isProven() bool { return k.isHeld() && k.proof == proofChallenge }

// provenSince is the column of isProven, for whoever joins the keys as k.
const provenSince = `CASE WHEN k.proof = '` + proofChallenge + `' THEN k.proven_at ELSE 0 END`

const keyColumns = `agent, pem, key_id, fingerprint, previous, entry, entry_sig, proof, registered_at, changed_at, proven_at`

func scanKey(row store.Row) (*keyRow, error) {
	var k keyRow
	var pem []byte
	var registered, changed, proven int64
	err := row.Scan(&k.agent, &pem, &k.keyID, &k.fingerprint, &k.previous, &k.entry.Entry, &k.entry.Signature, &k.proof, &registered, &changed, &proven)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	k.pem, k.registered, k.changed, k.proven = string(pem), store.Time(registered), store.Time(changed), store.Time(proven)
	return &k, err
}

// keyOf reads an agent's key; nil when there is none. Locked, it stays as it is
// until the transaction ends.
func keyOf(tx *store.Tx, agent string, locked bool) (*keyRow, error) {
	if locked {
		// A key that is not there yet cannot be locked by its row, and two hubs must
		// not both be first.
		if err := relay.Lock(tx, []string{"key " + agent}); err != nil {
			return nil, err
		}
	}
	return scanKey(tx.QueryRow(`SELECT `+keyColumns+` FROM place_keys WHERE agent = ?`, agent))
}

// heldID tells whether an id was ever entered with a proof.
func heldID(tx *store.Tx, agent string) (bool, error) {
	var at int64
	err := tx.QueryRow(`SELECT proven_at FROM place_keys WHERE agent = ?`, agent).Scan(&at)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return at != 0, err
}

// guard decides, in the transaction that serves, whether the caller may act as the
// id; told is whether the caller's session does.
func (p *Place) guard(tx *store.Tx, who Visitor, id string) (told bool, err error) {
	if who.holds(id) {
		return true, nil
	}
	if who.Agent != "" || who.OfHub() {
		return false, mmp.ErrNotYourAgent
	}
	is, err := heldID(tx, id)
	if err == nil && (is || p.c.Auth == Strict) {
		err = mmp.ErrAuthRequired
	}
	return false, err
}

// admit is for reads that touch nobody in particular: strict wants a token.
func (p *Place) admit(who Visitor) error {
	if p.c.Auth == Strict && who.Agent == "" && !who.OfHub() {
		return mmp.ErrAuthRequired
	}
	return nil
}

// putKey stores a key; proof is empty for one nobody has proven. What somebody else
// may have begun under the id ends with it: revoked tells the caller to say so.
func (p *Place) putKey(tx *store.Tx, old *keyRow, agent string, key *mmp.PublicKey, entry mmp.SignedEntry, proof string, turned mmp.Binding) (revoked bool, err error) {
	p.keys.forget(agent)
	now := p.now()
	row := keyRow{
		agent: agent, pem: key.PEM(), keyID: key.KeyID(), fingerprint: key.Fingerprint(), entry: entry, proof: proof,
		registered: now,
	}
	changed := old != nil && old.keyID != row.keyID
	if old != nil {
		row.previous, row.changed = old.previous, old.changed
		if !changed {
			row.registered = old.registered
			row.keepProof(old)
		}
	}
	if changed {
		row.previous, row.changed = old.fingerprint, now
	}
	if old.isProven() {
		row.proven = old.proven // only its owner changes a proven key
	} else if row.isProven() {
		row.proven = now // what was shown before proves nothing
	}
	if row.proof != "" && row.proven.IsZero() {
		row.proven = now
	}
	_, err = tx.Exec(`INSERT INTO place_keys (`+keyColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (agent) DO UPDATE SET pem = excluded.pem, key_id = excluded.key_id, fingerprint = excluded.fingerprint,
			previous = excluded.previous, entry = excluded.entry, entry_sig = excluded.entry_sig, proof = excluded.proof,
			registered_at = excluded.registered_at, changed_at = excluded.changed_at, proven_at = excluded.proven_at`,
		row.agent, []byte(row.pem), row.keyID, row.fingerprint, row.previous, row.entry.Entry, row.entry.Signature, row.proof,
		store.Micros(row.registered), store.Micros(row.changed), store.Micros(row.proven))
	if err != nil {
		return false, err
	}
	if err := p.noteKey(tx, row, changed); err != nil {
		return false, err
	}
	if old == nil || changed || row.isProven() && !old.isProven() {
		previous := ""
		if changed {
			previous = old.keyID
		}
		if err := p.logKey(tx, row, previous, turned); err != nil {
			return false, err
		}
	}
	switch {
	case row.isProven() && !old.isProven():
		return old.isHeld(), p.clearFor(tx, agent)
	case old.isHeld() && changed:
		_, err := revoke(tx, agent)
		return true, err
	}
	return false, nil
}

// clearFor makes an id its owner's, who has proven its key now: sessions that static
// signatures opened end, and what anybody put here under the id goes, since it would
// stand there as the owner's.
func (p *Place) clearFor(tx *store.Tx, agent string) error {
	for _, query := range []string{
		`DELETE FROM place_tokens WHERE agent = ?`, `DELETE FROM place_needs WHERE agent = ?`,
		`DELETE FROM place_deposits WHERE owner = ?`, `DELETE FROM place_attests WHERE owner = ?`, `DELETE FROM place_attests WHERE agent = ?`,
	} {
		if _, err := tx.Exec(query, agent); err != nil {
			return err
		}
	}
	return nil
}

// keepProof never weakens what the same key has shown before.
func (k *keyRow) keepProof(old *keyRow) {
	k.proven = old.proven
	if old.proof == proofChallenge || k.proof == "" {
		k.proof = old.proof
	}
	if k.entry == (mmp.SignedEntry{}) || k.entry != old.entry && k.issued(k.entry).Before(k.issued(old.entry)) {
		k.entry = old.entry // an older entry may be one that somebody kept
	}
}

// issued is when the key signed an entry; zero for none.
func (k *keyRow) issued(entry mmp.SignedEntry) time.Time {
	key, err := mmp.ParsePublicKey(k.pem)
	if err != nil {
		return time.Time{}
	}
	e, err := mmp.VerifyEntry(key, k.agent, entry)
	if err != nil {
		return time.Time{}
	}
	return e.IssuedAt
}

func (p *Place) noteKey(tx *store.Tx, k keyRow, changed bool) error {
	proof := k.proof
	if proof == "" {
		proof = "none"
	}
	err := p.note(tx, board.AuditEntry{
		EventType: board.AuditKeyRegistration, Action: "register", AgentID: k.agent, KeyFingerprint: k.fingerprint, KeyID: k.keyID,
		Changed: &changed, Proof: proof,
	})
	if err != nil {
		return err
	}
	entry := audit.Entry{Actor: "agent:" + k.agent, Action: audit.PlaceKeyRegistered, Target: k.agent, Detail: map[string]any{"key_id": k.keyID, "proof": proof}}
	if !changed {
		p.d.Trail.Note(entry)
		return nil
	}
	entry.Action = audit.PlaceKeyChanged
	entry.Detail["previous_fingerprint"] = k.previous
	return p.d.Trail.AppendTx(tx, entry)
}

// RegisterKey puts a key into the directory. A proven id's key changes only by
// its old key's word.
func (p *Place) RegisterKey(ctx context.Context, who Visitor, req *mmp.KeyRequest) (mmp.KeyRegistered, error) {
	proof := ""
	if req.Proof != nil {
		if err := p.checkChallenge(ctx, who, req.AgentID, req.Key, *req.Proof); err != nil {
			return mmp.KeyRegistered{}, p.refusedAuth(ctx, req.AgentID, err)
		}
		proof = proofChallenge
	}
	revoked := false
	err := p.write(ctx, func(tx *store.Tx) error {
		old, err := keyOf(tx, req.AgentID, true)
		if err != nil {
			return err
		}
		if err := p.mayRegisterKey(who, req, old, proof); err != nil {
			return err
		}
		revoked, err = p.putKey(tx, old, req.AgentID, req.Key, req.Entry, p.proofFor(old, req, proof),
			mmp.Binding{RotationSignature: req.RotationSignature, SuccessorSignature: req.SuccessorSignature})
		return err
	})
	if err != nil {
		return mmp.KeyRegistered{}, p.refusedAuth(ctx, req.AgentID, err)
	}
	if revoked {
		p.tell(subjectRevoked, req.AgentID)
	}
	return mmp.KeyRegistered{Status: board.StatusRegistered, AgentID: req.AgentID, Fingerprint: req.Key.Fingerprint(), KeyID: req.Key.KeyID()}, nil
}

// proofFor: a successor that the old key named inherits its standing.
func (p *Place) proofFor(old *keyRow, req *mmp.KeyRequest, proof string) string {
	if proof == "" && old.isHeld() && old.keyID != req.Key.KeyID() {
		return old.proof
	}
	return proof
}

func (p *Place) mayRegisterKey(who Visitor, req *mmp.KeyRequest, old *keyRow, proof string) error {
	owner := who.holds(req.AgentID)
	if !owner && (who.Agent != "" || who.OfHub()) {
		return mmp.ErrNotYourAgent
	}
	switch {
	case !old.isProven() && !mmp.MayHave(req.AgentID, req.Key):
		return mmp.ErrForeignID
	case !old.isProven() && proof != "":
		return nil // whoever has proven nothing makes room
	case !old.isHeld():
		if p.c.Auth == Strict && !owner {
			return mmp.ErrAuthRequired
		}
		if p.c.Auth == TOFU && old != nil && old.keyID != req.Key.KeyID() {
			return mmp.ErrKeyPinned
		}
		return nil
	case old.keyID == req.Key.KeyID():
		if owner || proof != "" {
			return nil
		}
		return mmp.ErrAuthRequired
	}
	return rotates(who, req, old)
}

// rotates wants two words of the old key: its session, and its successor's name.
func rotates(who Visitor, req *mmp.KeyRequest, old *keyRow) error {
	if !who.holds(req.AgentID) {
		if req.RotationSignature == "" && req.Proof == nil {
			return mmp.ErrAuthRequired
		}
		return mmp.ErrKeyPinned
	}
	previous, err := mmp.ParsePublicKey(old.pem)
	if err != nil {
		return err
	}
	if who.KeyID != old.keyID || mmp.VerifyRotation(previous, req.AgentID, req.Key, req.RotationSignature) != nil {
		return mmp.ErrKeyPinned
	}
	if req.SuccessorSignature != "" && mmp.VerifySuccession(previous, req.AgentID, req.Key, req.SuccessorSignature) != nil {
		return mmp.ErrKeyPinned
	}
	return nil
}

// Key looks an agent's key up, here or at a peered place.
func (p *Place) Key(ctx context.Context, who Visitor, agent string) (mmp.KeyAnswer, error) {
	if err := p.admit(who); err != nil {
		return mmp.KeyAnswer{}, err
	}
	id, peer := mmp.SplitAddress(agent)
	if peer != "" {
		return p.remoteKey(ctx, id, peer)
	}
	var out mmp.KeyAnswer
	err := p.read(ctx, func(tx *store.Tx) error {
		k, err := keyOf(tx, agent, false)
		if err == nil && k == nil {
			err = mmp.ErrKeyNotFound
		}
		if err != nil {
			return err
		}
		out = k.answer()
		out.Log, err = keylog.Prove(tx, p.d.Key, agent, k.keyID)
		return err
	})
	return out, err
}

func (k *keyRow) answer() mmp.KeyAnswer {
	a := mmp.KeyAnswer{
		AgentID: k.agent, PublicKey: k.pem, Fingerprint: k.fingerprint, KeyID: k.keyID, RegisteredAt: mmp.At(k.registered),
		Proven: k.isProven(), ChangedAt: mmp.At(k.changed), PreviousFingerprint: optional(k.previous), Envelopes: k.envelopes(),
		Entry: optional(k.entry.Entry), EntrySignature: optional(k.entry.Signature),
	}
	return a
}

// envelopes the key's entry lists; without one it is the first.
func (k *keyRow) envelopes() []int {
	if k.entry.Entry == "" {
		return []int{1}
	}
	key, err := mmp.ParsePublicKey(k.pem)
	if err != nil {
		return []int{1}
	}
	entry, err := mmp.VerifyEntry(key, k.agent, k.entry)
	if err != nil || len(entry.Envelopes) == 0 {
		return []int{1}
	}
	return entry.Envelopes
}

// optional is nil for an empty text.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

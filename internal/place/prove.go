package place

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/store"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/board"
)

// claim is what a registration or introduction shows about its key.
type claim struct {
	key *mmp.PublicKey
	// signed: a signature was sent that is meant as a proof; a published one is not.
	// fits: it verifies. covers: it also covers the id.
	signed, fits, covers bool
	proof                string
}

// Challenge makes a nonce for a proof.
func (p *Place) Challenge(ctx context.Context, who Visitor, agent string) (mmp.ChallengeAnswer, error) {
	nonce, expires := mmp.NewNonce(), p.now().Add(p.c.ChallengeTTL)
	err := p.write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`INSERT INTO place_nonces (nonce, agent, expires_at) VALUES (?, ?, ?)`, nonce, agent, store.Micros(expires))
		return err
	})
	out := mmp.ChallengeAnswer{Nonce: nonce, PlaceID: p.id, ExpiresAt: mmp.At(expires), Address: who.Called}
	out.Sign(p.d.Key, agent)
	return out, err
}

// useNonce uses a nonce up; a second use finds nothing.
func (p *Place) useNonce(ctx context.Context, nonce, agent string) error {
	return p.write(ctx, func(tx *store.Tx) error {
		n, err := tx.Exec(`DELETE FROM place_nonces WHERE nonce = ? AND agent = ? AND expires_at > ?`, nonce, agent, store.Micros(p.now()))
		if err == nil && n == 0 {
			err = mmp.ErrNonce
		}
		return err
	})
}

// checkChallenge uses the nonce up, whatever comes of it, and checks the signature.
func (p *Place) checkChallenge(ctx context.Context, who Visitor, agent string, key *mmp.PublicKey, proof mmp.Proof) error {
	if clean("proof.nonce", proof.Nonce) != nil {
		return mmp.ErrNonce
	}
	if err := p.useNonce(ctx, proof.Nonce, agent); err != nil {
		return err
	}
	if key == nil {
		return mmp.ErrInvalidKey
	}
	if (mmp.Challenge{PlaceKey: p.PlaceKey(), Address: who.Called, AgentID: agent, Nonce: proof.Nonce}).Verify(key, proof) != nil {
		return mmp.ErrSignature
	}
	return nil
}

// judge looks at a proof before any transaction. A challenge that fails is refused
// at once; a static signature that does not fit is only noted, since some policies
// let its bearer in unproven.
func (p *Place) judge(ctx context.Context, who Visitor, agent, pem string, static mmp.Static, proof *mmp.Proof) (claim, error) {
	var c claim
	var err error
	if pem != "" {
		if c.key, err = mmp.ParsePublicKey(pem); err != nil {
			return c, mmp.ErrInvalidKey
		}
	}
	if proof != nil {
		if c.key == nil {
			if c.key, err = p.pinnedKey(ctx, agent); err != nil {
				return c, err
			}
		}
		if err := p.checkChallenge(ctx, who, agent, c.key, *proof); err != nil {
			return c, err
		}
		c.signed, c.fits, c.covers, c.proof = true, true, true, proofChallenge
		return c, nil
	}
	c.signed = c.key != nil && static.Signature != "" && static.Identity != nil && static.ForRegistering(who.Called)
	if c.signed && mmp.VerifyIdentity(c.key, static) == nil {
		c.fits, c.proof = true, proofStatic
		c.covers = mmp.InstanceOf(static.Identity) == agent
	}
	return c, nil
}

func (p *Place) pinnedKey(ctx context.Context, agent string) (*mmp.PublicKey, error) {
	var k *keyRow
	err := p.read(ctx, func(tx *store.Tx) (err error) {
		k, err = keyOf(tx, agent, false)
		return err
	})
	if err != nil || k == nil {
		return nil, err
	}
	return mmp.ParsePublicKey(k.pem)
}

// verdict says what a claim is worth for an id; lives is whether somebody is
// registered under it now. tokened callers stand by their session.
type verdict struct {
	verified bool // identity_verified
	owner    bool // may have a token: the id is covered
}

func (p *Place) decide(who Visitor, c claim, old *keyRow, lives bool, agent string) (verdict, error) {
	switch {
	case c.key != nil && !old.isProven() && !mmp.MayHave(agent, c.key):
		return verdict{}, mmp.ErrForeignID
	case c.fits && c.proof == proofStatic && c.covers && (p.c.Static == RefuseStatic || old.isProven() && old.keyID == c.key.KeyID()):
		return verdict{}, mmp.ErrChallengeRequired
	case old.isProven():
		return p.decideHeld(who, c, old, agent)
	case c.proof == proofChallenge:
		// Whoever is here without having proven anything makes room.
		return verdict{verified: true, owner: true}, nil
	case old.isHeld():
		return p.decideHeld(who, c, old, agent)
	case old != nil && c.key != nil && old.keyID != c.key.KeyID() && (p.c.Auth == TOFU || c.covers && lives):
		return verdict{}, mmp.ErrKeyPinned
	case c.covers:
		return verdict{verified: true, owner: true}, nil
	case c.fits:
		return verdict{verified: true}, nil
	case p.c.Auth != Strict:
		return verdict{}, nil
	case c.signed:
		return verdict{}, mmp.ErrSignature
	}
	return verdict{}, mmp.ErrAuthRequired
}

func (p *Place) decideHeld(who Visitor, c claim, old *keyRow, agent string) (verdict, error) {
	switch {
	case c.covers && old.keyID != c.key.KeyID():
		return verdict{}, mmp.ErrKeyPinned
	case c.covers:
		return verdict{verified: true, owner: true}, nil
	case !c.signed && who.holds(agent):
		return verdict{verified: true}, nil
	case c.signed:
		return verdict{}, mmp.ErrSignature
	}
	return verdict{}, mmp.ErrAuthRequired
}

// Prove checks a proof that came with an introduction.
func (p *Place) Prove(ctx context.Context, who Visitor, req ProveRequest) (Proven, error) {
	c, err := p.judge(ctx, who, req.Agent, req.PublicKey, req.Static, req.Proof)
	if err != nil {
		return Proven{}, p.refusedAuth(ctx, req.Agent, err)
	}
	if !c.fits {
		return Proven{}, nil
	}
	out := Proven{KeyID: c.key.KeyID()}
	revoked := false
	err = p.write(ctx, func(tx *store.Tx) error {
		old, err := keyOf(tx, req.Agent, true)
		if err != nil {
			return err
		}
		row, err := p.agentRow(tx, req.Agent)
		if err != nil {
			return err
		}
		v, err := p.decide(who, c, old, row != nil && p.alive(row), req.Agent)
		if err != nil {
			return err
		}
		out.Verified = v.verified
		if !v.owner {
			return nil
		}
		revoked, err = p.reward(tx, old, req.Agent, c, &out)
		return err
	})
	if err != nil {
		return Proven{}, p.refusedAuth(ctx, req.Agent, err)
	}
	if revoked {
		p.tell(subjectRevoked, req.Agent)
	}
	return out, nil
}

// reward pins the key and makes a token. Sessions that static signatures opened end
// when a challenge is answered.
func (p *Place) reward(tx *store.Tx, old *keyRow, agent string, c claim, out *Proven) (revoked bool, err error) {
	if !old.isHeld() || !old.isProven() && c.proof == proofChallenge {
		if revoked, err = p.putKey(tx, old, agent, c.key, mmp.SignedEntry{}, c.proof, mmp.Binding{}); err != nil {
			return revoked, err
		}
	}
	out.Challenged = c.proof == proofChallenge
	out.Token, out.Expires, err = p.issue(tx, agent, c.key.KeyID())
	return revoked, err
}

// refusedAuth puts a refused proof into both trails; the answer is the same error.
func (p *Place) refusedAuth(ctx context.Context, agent string, err error) error {
	refusal, ok := errors.AsType[mmp.Error](err)
	if !ok || refusal.Status != 401 && refusal.Status != 403 && refusal.Status != 409 {
		return err
	}
	p.d.Trail.Note(audit.Entry{Actor: "agent:" + agent, Action: audit.PlaceRefused, Target: agent, Outcome: refusal.Code})
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	noted := p.write(ctx, func(tx *store.Tx) error {
		return p.note(tx, board.AuditEntry{EventType: board.AuditAuth, Action: "refused", AgentID: agent, Reason: refusal.Code})
	})
	if noted != nil {
		p.d.Log.Warn("place: a refusal could not be audited", "error", noted)
	}
	return err
}

// Speak tells who a direct message comes from.
func (p *Place) Speak(ctx context.Context, who Visitor, from string) (Sender, error) {
	s := Sender{ID: from, Direct: true, Proven: who.Proven}
	if who.Proven {
		s.KeyID = who.KeyID
	}
	if who.Agent != "" {
		if from != "" && from != who.Agent {
			return s, mmp.ErrNotYourAgent
		}
		s.ID = who.Agent
		return s, nil
	}
	if from == "" {
		return s, mmp.ErrAuthRequired
	}
	return s, p.read(ctx, func(tx *store.Tx) error {
		_, err := p.guard(tx, Visitor{}, from)
		return err
	})
}

// ProvenBy tells how an id has proven its key: "challenge", "static", or "" for not
// at all. What rests on a static proof could be a replay.
func (p *Place) ProvenBy(ctx context.Context, agent string) (how string, err error) {
	err = p.read(ctx, func(tx *store.Tx) error {
		err := tx.QueryRow(`SELECT proof FROM place_keys WHERE agent = ?`, agent).Scan(&how)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	return how, err
}

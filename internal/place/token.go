package place

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"sync"
	"time"

	"parley.internal/internal/store"
	"parley.internal/protocol/mmp"
)

// maxTokens is how many sessions one agent may have; the oldest makes room.
const maxTokens = 8

// sessionTrust is how long a token that was looked up is believed without looking
// again. A revocation on this hub, or one heard of through the bus, ends it at once.
const sessionTrust = time.Second

// sessions remembers tokens that were seen a moment ago.
type sessions struct {
	mu    sync.Mutex
	known map[string]session
}

type session struct {
	agent, keyID string
	proven       bool // the key, by a challenge
	created      time.Time
	expires      time.Time
	looked       time.Time
}

func tokenHash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// tokenForm saves the look-up of what cannot be a token.
func tokenForm(token string) bool {
	if len(token) != 64 {
		return false
	}
	for i := range len(token) {
		if c := token[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// Authenticate tells whose session token it is. Every use is a sign of life.
func (p *Place) Authenticate(ctx context.Context, token string) (Visitor, error) {
	if !tokenForm(token) {
		return Visitor{}, mmp.ErrToken
	}
	hash := tokenHash(token)
	s, err := p.session(ctx, hash)
	if err != nil {
		return Visitor{}, err
	}
	p.touch(s.agent)
	p.extend(hash, p.slide(s))
	return Visitor{Agent: s.agent, KeyID: s.keyID, Proven: s.proven, token: hash}, nil
}

// slide is until when a token lives if it is used now.
func (p *Place) slide(s session) time.Time {
	until, most := p.now().Add(p.c.TokenTTL), s.created.Add(p.c.TokenMax)
	if until.After(most) {
		return most
	}
	return until
}

func (p *Place) session(ctx context.Context, hash string) (session, error) {
	now := p.now()
	p.sessions.mu.Lock()
	s, ok := p.sessions.known[hash]
	p.sessions.mu.Unlock()
	if !ok || now.Sub(s.looked).Abs() >= sessionTrust {
		var err error
		if s, err = p.lookSession(ctx, hash); err != nil {
			return session{}, err
		}
		p.sessions.mu.Lock()
		if len(p.sessions.known) > maxCounted {
			clear(p.sessions.known)
		}
		p.sessions.known[hash] = s
		p.sessions.mu.Unlock()
	}
	if until, ok := p.extended(hash); ok && until.After(s.expires) {
		s.expires = until
	}
	if !s.expires.After(now) {
		return session{}, mmp.ErrToken
	}
	return s, nil
}

func (p *Place) extended(hash string) (time.Time, bool) {
	p.presence.mu.Lock()
	defer p.presence.mu.Unlock()
	t, ok := p.presence.tokens[hash]
	return t, ok
}

func (p *Place) lookSession(ctx context.Context, hash string) (session, error) {
	s := session{looked: p.now()}
	err := p.read(ctx, func(tx *store.Tx) error {
		var created, expires, proven int64
		err := tx.QueryRow(`SELECT t.agent, t.key_id, t.created_at, t.expires_at, `+provenSince+` FROM place_tokens t
			LEFT JOIN place_keys k ON k.agent = t.agent AND k.key_id = t.key_id WHERE t.hash = ?`, hash).Scan(&s.agent, &s.keyID, &created, &expires, &proven)
		if errors.Is(err, sql.ErrNoRows) {
			return mmp.ErrToken
		}
		s.proven = proven != 0
		s.created, s.expires = store.Time(created), store.Time(expires)
		return err
	})
	return s, err
}

// issue makes a token in the transaction of the proof it rewards.
func (p *Place) issue(tx *store.Tx, agent, keyID string) (token string, expires time.Time, err error) {
	now := p.now()
	token, expires = mmp.NewToken(), now.Add(min(p.c.TokenTTL, p.c.TokenMax))
	_, err = tx.Exec(`INSERT INTO place_tokens (hash, agent, key_id, created_at, expires_at) VALUES (?, ?, ?, ?, ?)`,
		tokenHash(token), agent, keyID, store.Micros(now), store.Micros(expires))
	if err != nil {
		return "", time.Time{}, err
	}
	if _, err := tx.Exec(`DELETE FROM place_tokens WHERE agent = ? AND expires_at <= ?`, agent, store.Micros(now)); err != nil {
		return "", time.Time{}, err
	}
	_, err = tx.Exec(`DELETE FROM place_tokens WHERE agent = ? AND hash NOT IN
		(SELECT hash FROM place_tokens WHERE agent = ? ORDER BY created_at DESC, hash LIMIT ?)`, agent, agent, maxTokens)
	return token, expires, err
}

// revoke takes all of an agent's tokens; the caller tells revoked after the commit.
func revoke(tx *store.Tx, agent string) (int, error) {
	n, err := tx.Exec(`DELETE FROM place_tokens WHERE agent = ?`, agent)
	return int(n), err
}

// Logout takes one session token back.
func (p *Place) Logout(ctx context.Context, who Visitor) error {
	if err := who.mustHaveToken(); err != nil {
		return mmp.ErrNoToken
	}
	err := p.write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`DELETE FROM place_tokens WHERE hash = ?`, who.token)
		return err
	})
	if err == nil {
		p.tell(subjectRevoked, who.Agent)
	}
	return err
}

// forgetSessions makes the next use of an agent's tokens look them up.
func (p *Place) forgetSessions(agent string) {
	p.sessions.mu.Lock()
	defer p.sessions.mu.Unlock()
	for hash, s := range p.sessions.known {
		if s.agent == agent {
			delete(p.sessions.known, hash)
		}
	}
}

package identity

import (
	"time"

	"parley.internal/internal/store"
)

// credential is one secret in use and what it opens: a token or a page.
type credential struct {
	sealed  sealed
	actor   Actor
	revoked bool
	used    bool
	// expires is the end as it stands; with slide set each use moves it there
	// from now. limit is an end that nothing moves. Zero times mean never.
	expires time.Time
	slide   time.Duration
	limit   time.Time
}

// judge refuses a credential that is no longer good.
func (k *credential) judge(now time.Time) error {
	past := func(t time.Time) bool { return !t.IsZero() && !now.Before(t) }
	switch {
	case k.revoked:
		return refused(Revoked, k.actor.TokenID)
	case k.used:
		return refused(Used, k.actor.TokenID)
	case past(k.expires), past(k.limit):
		return refused(Expired, k.actor.TokenID)
	default:
		return nil
	}
}

// touch is a use at now.
func (k *credential) touch(now time.Time) {
	if k.slide > 0 {
		k.expires = now.Add(k.slide)
	}
}

// current is the actor as of now.
func (k *credential) current(now time.Time) Actor {
	s := k.actor
	if s.Credential == ViaPage {
		s.Expires = k.limit // idleness ends a page's cookie, not its open connections
		return s
	}
	s.Expires = k.expires
	if k.slide > 0 {
		s.Expires = now.Add(k.slide)
	}
	s.Expires = earlier(s.Expires, k.limit)
	return s
}

// credential makes what a secret of the token opens.
func (t Token) credential(s sealed, validUntil time.Time) *credential {
	k := &credential{
		sealed: s, revoked: !t.Revoked.IsZero(), used: !t.Used.IsZero(), expires: t.Expires, limit: validUntil,
		actor: Actor{
			Person: t.Principal, Owner: t.owner, Role: t.Role, Scopes: t.Scopes,
			Via: Via{Credential: t.Kind, TokenID: t.ID, Device: t.Device, Name: t.Name, Where: AtAPI},
		},
	}
	switch t.Kind {
	case TokenDevice:
		k.slide = t.TTL
	case TokenPairing:
		k.actor.Scopes = Scopes{}
	}
	return k
}

// loadToken finds the token a secret opens, or refuses it as unknown.
func loadToken(tx *store.Tx, secret string) (Token, *credential, error) {
	t, k, err := findToken(tx, secret)
	if err != nil || k.slide == 0 {
		return t, k, err
	}
	// Uses move this one's end, up to that of what it was made with.
	end, err := endOf(tx, t.maker)
	if why := ReasonOf(err); why != "" {
		return Token{}, nil, refused(why, t.ID)
	}
	k.limit = earlier(k.limit, end)
	return t, k, err
}

func findToken(tx *store.Tx, secret string) (Token, *credential, error) {
	rows, err := tx.Query(`SELECT `+tokenColumns+`, s.lookup, s.salt, s.hash, s.valid_until
		FROM token_secrets s JOIN tokens t ON t.id = s.token JOIN people p ON p.id = t.person WHERE s.lookup = ?`, lookupOf(secret))
	if err != nil {
		return Token{}, nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var s sealed
		var until int64
		t, err := scanToken(rows, &s.lookup, &s.salt, &s.hash, &until)
		if err != nil {
			return Token{}, nil, err
		}
		if s.opens(secret) {
			return t, t.credential(s, store.Time(until)), nil
		}
	}
	if err := rows.Err(); err != nil {
		return Token{}, nil, err
	}
	return Token{}, nil, refused(Unknown, "")
}

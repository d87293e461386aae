package place

import (
	"parley.internal/internal/identity"
	"parley.internal/protocol/mmp"
)

// Visitor is who makes a request at the place. What it may do on this hub is its
// actor's; most are strangers there. The rest is about the place alone, where agents of
// anybody have ids, keys and session tokens that open nothing else: it is no second
// actor. The zero value is a stranger.
type Visitor struct {
	Actor identity.Actor
	// Agent is the id a session token was made for; empty without one.
	Agent string
	// KeyID is the key that token is bound to.
	KeyID string
	// Proven says that the key was proven by a challenge. A session that was given for
	// a static signature may be a copier's.
	Proven bool
	// Called is the address of ours that the visitor used, for what is signed about it;
	// empty when it is none of ours.
	Called string

	token string // the hash of the session token
}

// OfHub reports whether somebody of this hub is there, with a credential of theirs: they
// may look around without a session, and are never anybody's agent.
func (c Visitor) OfHub() bool { return c.Actor.Scopes.Has(identity.Place) }

// Operator reports whether they run the place: other people's things, and what
// is the hub's own.
func (c Visitor) Operator() bool { return c.Actor.Scopes.Has(identity.PlaceManage) }

// holds tells whether the caller's token covers the id.
func (c Visitor) holds(id string) bool { return c.Agent != "" && c.Agent == id }

// mustHaveToken refuses strangers where the protocol wants a token.
func (c Visitor) mustHaveToken() error {
	if c.Agent == "" {
		return mmp.ErrAuthRequired
	}
	return nil
}

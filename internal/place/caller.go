package place

import (
	"parley/protocol/mmp"
)

// Caller is who makes a request, as the face found out. The zero value is a
// stranger.
type Caller struct {
	// Agent is the id a session token was made for; empty without one.
	Agent string
	// KeyID is the key that token is bound to.
	KeyID string
	// Proven says that the key was proven by a challenge. A session that was given for
	// a static signature may be a copier's.
	Proven bool
	// Operator holds a person's token with the scope place.
	Operator bool
	// Called is the address of ours that the caller used, for what is signed about it;
	// empty when it is none of ours.
	Called string
	// Address counts against the limit of new ids; empty is exempt.
	Address string

	token string // the hash of the session token
}

// Anonymous is somebody without a token.
func Anonymous(address string) Caller { return Caller{Address: address} }

// OperatorOf is a person who runs the place.
func OperatorOf(address string) Caller { return Caller{Operator: true, Address: address} }

// holds tells whether the caller's token covers the id.
func (c Caller) holds(id string) bool { return c.Agent != "" && c.Agent == id }

// mustHaveToken refuses strangers where the protocol wants a token.
func (c Caller) mustHaveToken() error {
	if c.Agent == "" {
		return mmp.ErrAuthRequired
	}
	return nil
}

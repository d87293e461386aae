package talk

import (
	"context"
	"errors"
	"strings"

	"parley/internal/identity"
	"parley/internal/talk"
	wire "parley/protocol/agentfirst"
)

const senderScope = "talk:sender:"

// WhoOf is what a session may do in conversations: talk:admin is anybody, talk
// the sender bound to its person, talk:sender:PREFIX* those with that prefix.
func WhoOf(s identity.Session) talk.Who {
	who := talk.Who{Sender: bound(s), Admin: s.Scopes.Has(identity.TalkAdmin), Principal: s.Principal.String()}
	if s.Scopes.Has(identity.Talk) {
		who.Allowed = append(who.Allowed, who.Sender)
	} else {
		who.Sender = "" // a gateway has no sender of its own
	}
	for _, scope := range s.Scopes.Sorted() {
		if pattern, ok := strings.CutPrefix(scope, senderScope); ok {
			who.Allowed = append(who.Allowed, pattern)
		}
	}
	return who
}

// bound is the sender of a person: the hub's owner is the default sender, so that
// clients without names reach the owner's conversations.
func bound(s identity.Session) string {
	if s.Owner || s.Principal.Kind == identity.KindHub {
		return wire.DefaultSender
	}
	return s.Principal.Name
}

// MayTalk reports whether a session may use conversations at all.
func MayTalk(s identity.Session) bool {
	who := WhoOf(s)
	return who.Admin || len(who.Allowed) > 0
}

// authenticate looks at a token, slowing down whoever guesses.
func (f *Face) authenticate(ctx context.Context, address, token string) (identity.Session, error) {
	s, err := f.d.People.Authenticate(ctx, token)
	if err == nil && s.Via == identity.TokenPairing {
		return identity.Session{}, &identity.AuthError{Reason: identity.Malformed, TokenID: s.TokenID}
	}
	if err != nil {
		if throttled := f.attempts.Attempt(address); throttled != nil {
			return identity.Session{}, throttled
		}
		if errors.Is(err, identity.ErrRefused) {
			f.d.Front.Refused(address, err, f.attempts.Failed(address))
		}
		return identity.Session{}, err
	}
	s.Address = address
	return s, nil
}

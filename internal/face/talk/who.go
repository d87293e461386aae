package talk

import (
	"context"
	"errors"

	"parley/internal/brain/tool"
	"parley/internal/identity"
	"parley/internal/talk"
)

// WhoOf is what a session may do in conversations: talk:admin is anybody, talk
// the sender bound to its person, talk:sender:PREFIX* those with that prefix.
func WhoOf(s identity.Actor) talk.Who {
	who := talk.Who{Admin: s.Scopes.Has(identity.TalkAdmin), Principal: s.String(), Mandate: tool.MandateOf(s)}
	who.Allowed.Patterns = s.Scopes.SenderPatterns()
	if s.Scopes.Has(identity.Talk) { // a gateway has no sender of its own
		who.Sender = s.Sender()
		who.Allowed.Names = []string{who.Sender}
	}
	return who
}

// MayTalk reports whether a session may use conversations, or manage the agents
// they are held with, at all.
func MayTalk(s identity.Actor) bool {
	who := WhoOf(s)
	return who.Admin || !who.Allowed.Empty() || s.Scopes.Has(identity.AgentsManage)
}

// authenticate looks at a token, slowing down whoever guesses.
func (f *Face) authenticate(ctx context.Context, address, token string) (identity.Actor, error) {
	s, err := f.d.People.Authenticate(ctx, token)
	if err == nil && s.Credential == identity.TokenPairing {
		return identity.Actor{}, &identity.AuthError{Reason: identity.Malformed, TokenID: s.TokenID}
	}
	if err != nil {
		try, throttled := f.attempts.Attempt(address)
		if throttled != nil {
			return identity.Actor{}, throttled
		}
		defer try.End()
		if errors.Is(err, identity.ErrRefused) {
			f.d.Front.Refused(address, err, try.Failed())
		}
		return identity.Actor{}, err
	}
	s.Address = address
	return s, nil
}

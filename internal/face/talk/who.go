package talk

import (
	"context"
	"errors"

	"parley.internal/internal/identity"
)

// MayTalk reports whether somebody may use conversations, or manage the agents they
// are held with, at all.
func MayTalk(who identity.Actor) bool {
	senders := who.Senders()
	return senders == nil || !senders.Empty() || who.Scopes.Has(identity.AgentsManage)
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
	return s.From(address), nil
}

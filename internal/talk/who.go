package talk

import (
	"fmt"

	"parley.internal/internal/identity"
	"parley.internal/protocol/agentfirst"
)

// may reports whether a sender's conversations are open to the caller: talk:admin is
// anybody, talk the sender bound to the person, talk:sender:PREFIX* those with that prefix.
func may(who identity.Actor, sender string) bool {
	return who.Scopes.AllowsSender(sender, who.Sender())
}

// keyOf checks a key and fills in the default sender: the one bound to the caller's
// person.
func keyOf(who identity.Actor, k Key) (Key, error) {
	k.Sender = agentfirst.SenderOr(k.Sender, who.OwnSender())
	for _, err := range []error{agentfirst.CheckAgent(k.Agent), agentfirst.CheckSender(k.Sender), agentfirst.CheckThread(k.Thread)} {
		if err != nil {
			return k, fmt.Errorf("%w: %w", ErrBadRequest, err)
		}
	}
	if !may(who, k.Sender) {
		return k, fmt.Errorf("%w: sender %q", ErrForbidden, k.Sender)
	}
	return k, nil
}

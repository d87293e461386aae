package talk

import (
	"fmt"

	"parley/internal/brain/tool"
	"parley/internal/identity"
	"parley/protocol/agentfirst"
)

// Who asks, and whose conversations that may concern. A face makes it from the
// caller's scopes: talk:admin is Admin; talk allows the bound sender only;
// talk:sender:PREFIX* allows that prefix.
type Who struct {
	// Sender is the one bound to the caller's person and what a request means that
	// names none; empty is the default sender.
	Sender string
	// Admin may be anybody and sees everything.
	Admin bool
	// Allowed are the senders whose conversations the caller may have and see.
	Allowed identity.Senders
	// Principal is who acts, for the audit trail: "person:alice".
	Principal string
	// Mandate is what the caller can hand to the agents spoken to.
	Mandate tool.Mandate
}

// Own is a person who may only be themselves.
func Own(sender string) Who {
	sender = agentfirst.SenderOr(sender, "")
	return Who{Sender: sender, Allowed: identity.Senders{Names: []string{sender}}, Principal: "person:" + sender}
}

// Admin is somebody who may be any sender.
func Admin(principal string) Who { return Who{Admin: true, Principal: principal} }

// May reports whether a sender's conversations are open to the caller.
func (w Who) May(sender string) bool { return w.Admin || w.Allowed.Has(sender) }

// senders is May for listings: nil is everything.
func (w Who) senders() *identity.Senders {
	if w.Admin {
		return nil
	}
	return &w.Allowed
}

// key checks a key and fills in the default sender.
func (w Who) key(k Key) (Key, error) {
	k.Sender = agentfirst.SenderOr(k.Sender, w.Sender)
	for _, err := range []error{agentfirst.CheckAgent(k.Agent), agentfirst.CheckSender(k.Sender), agentfirst.CheckThread(k.Thread)} {
		if err != nil {
			return k, fmt.Errorf("%w: %w", ErrBadRequest, err)
		}
	}
	if !w.May(k.Sender) {
		return k, fmt.Errorf("%w: sender %q", ErrForbidden, k.Sender)
	}
	return k, nil
}

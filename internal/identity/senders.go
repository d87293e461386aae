package identity

import (
	"slices"
	"strings"

	"parley.internal/protocol/agentfirst"
)

// SenderPattern matches senders: all that begin alike ("tg:*"), or exactly one.
// It is a type of its own, made from scopes only, so that a name can never be
// matched as a pattern.
type SenderPattern struct {
	prefix string
	open   bool
}

func senderPattern(text string) SenderPattern {
	prefix, open := strings.CutSuffix(text, "*")
	return SenderPattern{prefix: prefix, open: open}
}

// Matches reports whether the pattern stands for a sender.
func (p SenderPattern) Matches(sender string) bool {
	if p.open {
		return strings.HasPrefix(sender, p.prefix)
	}
	return sender == p.prefix
}

// Prefix is what a sender must begin with; whole says that it must be all of it.
func (p SenderPattern) Prefix() (prefix string, whole bool) { return p.prefix, !p.open }

// Senders is a set of senders: those named, and those that match a pattern.
type Senders struct {
	Names    []string
	Patterns []SenderPattern
}

// Has reports whether a sender is in the set.
func (s Senders) Has(sender string) bool {
	return slices.Contains(s.Names, sender) ||
		slices.ContainsFunc(s.Patterns, func(p SenderPattern) bool { return p.Matches(sender) })
}

// Empty reports whether nobody is in the set.
func (s Senders) Empty() bool { return len(s.Names)+len(s.Patterns) == 0 }

// SenderPatterns are the talk:sender scopes of the grant.
func (s Scopes) SenderPatterns() []SenderPattern {
	var patterns []SenderPattern
	for _, name := range s.sorted {
		if text, ok := strings.CutPrefix(name, senderPrefix); ok {
			patterns = append(patterns, senderPattern(text))
		}
	}
	return patterns
}

// personSender begins the sender of a person whose name is not theirs alone. No
// name has a colon.
const personSender = "person:"

// Sender is whom agents talk with when they talk with the actor's person: the
// owner is the default sender, so that clients without names reach the owner's
// conversations; everybody else has their name. Somebody whom an older hub let
// have the default sender's name is known by their id.
func (a Actor) Sender() string {
	switch {
	case a.Owner || a.Person.Kind == KindHub:
		return agentfirst.DefaultSender
	case a.Person.Name == agentfirst.DefaultSender:
		return personSender + a.Person.ID
	default:
		return a.Person.Name
	}
}

// OwnSender is Sender for whoever may be it; a gateway has none of its own.
func (a Actor) OwnSender() string {
	if !a.Scopes.Has(Talk) {
		return ""
	}
	return a.Sender()
}

// Senders are those whose conversations the actor may have and see; nil is everybody.
func (a Actor) Senders() *Senders {
	if a.Scopes.Has(TalkAdmin) {
		return nil
	}
	open := &Senders{Patterns: a.Scopes.SenderPatterns()}
	if own := a.OwnSender(); own != "" {
		open.Names = []string{own}
	}
	return open
}

package brain

import (
	"fmt"

	"parley.internal/internal/identity"
)

// Remains tells the library of names whose agents left something that whoever owns the
// next one of that name would have: keys, and with them a queue of messages.
func (l *Library) Remains(check func(name string) bool) { l.remains = check }

// mayBelong refuses to change whose an agent is. Its owner reaches what it has with others
// and speaks as it, so whoever changes agents may make a new one their own, and give theirs
// back to the hub. Everything else takes from somebody, or gives in their name.
func (l *Library) mayBelong(who identity.Actor, name string, old []byte, to string) error {
	from, own := l.ownerIn(name, old), who.Person.Name
	fresh := old == nil && (l.remains == nil || !l.remains(name))
	if from == to || who.Admin() || (fresh || from == own) && (to == "" || to == own) {
		return nil
	}
	return fmt.Errorf("%w: whose the agent %s is, is changed with the scope %s; a new one can be one's own", identity.ErrForbidden, name, identity.Admin)
}

// ownerIn is whose an agent is by its file, or by the last good one.
func (l *Library) ownerIn(name string, file []byte) string {
	if file == nil {
		return ""
	}
	a, err := ParseAgent(name, file)
	if err != nil {
		a, err = l.Get(name)
	}
	if err != nil {
		return ""
	}
	return a.Owner
}

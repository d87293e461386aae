package fleet

import (
	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/identity"
	"parley.internal/protocol/kenny"
)

// scopeOf is what a call of a tool needs.
func scopeOf(t kenny.Tool) string {
	switch {
	case t.Name == toolUpdate:
		return identity.FleetAdmin
	case t.Class == kenny.ReadOnly:
		return identity.FleetRead
	case t.Class == kenny.Sensitive:
		return identity.FleetSensitive
	}
	return identity.FleetCall
}

// may refuses a caller without the scope.
func may(who identity.Actor, scope string) *fault.Error {
	if who.Scopes.Has(scope) {
		return nil
	}
	return fault.Errorf(fault.Forbidden, "this needs the scope %s", scope)
}

// made reports whether a fan-out is the caller's own business: a person's, unless
// their token is limited, which then must be the one that made it.
func made(who, by identity.Actor) bool {
	if !who.Owns(by.Person.ID) {
		return false
	}
	return !who.Scopes.Limited() || who.TokenID != "" && who.TokenID == by.TokenID
}

// surfaceOf is where a call came from, as the call log says it.
func surfaceOf(who identity.Actor) string {
	if who.Agent != "" {
		return "agent"
	}
	return string(who.Where)
}

// person is whose inbox a question goes to.
func (f *Fleet) person(who identity.Actor) string {
	if who.Person.Kind == identity.KindPerson {
		return who.Person.ID
	}
	return f.d.Owner(f.ctx)
}

// reachable finds a machine the caller may know of. One outside the caller's
// limits and one that does not exist look the same to a limited caller.
func (f *Fleet) reachable(who identity.Actor, id string) (*machine, *fault.Error) {
	m := f.find(id)
	if m == nil || !who.Scopes.AllowsMachine(id, m.tags()) {
		if who.Scopes.Limited() {
			return nil, fault.Errorf(fault.Forbidden, "this token does not reach the machine %q", fault.Quotable(id))
		}
		return nil, fault.Errorf(fault.NotFound, "there is no machine %q", fault.Quotable(id))
	}
	return m, nil
}

// seen is reachable with a scope before it.
func (f *Fleet) seen(who identity.Actor, scope, id string) (*machine, *fault.Error) {
	if err := may(who, scope); err != nil {
		return nil, err
	}
	return f.reachable(who, id)
}

package fleet

import (
	"parley/internal/fit"
	"parley/internal/identity"
	"parley/protocol/kenny"
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
func (c Caller) may(scope string) *Error {
	if c.Session.Scopes.Has(scope) {
		return nil
	}
	return errorf(Forbidden, "this needs the scope %s", scope)
}

// limited reports whether the caller is limited to some machines.
func (c Caller) limited() bool { return c.Session.Scopes.Limited() }

// reaches reports whether a machine is within the caller's limits.
func (c Caller) reaches(id string, tags []string) bool {
	return c.Session.Scopes.AllowsMachine(id, tags)
}

// inPerson reports whether a person acts themselves: on a page they logged in to
// by link, code or passkey, which asks before it calls. A page that a token opened
// does not count: whatever holds the token can open one, a program too.
func (c Caller) inPerson() bool {
	return c.Surface == SurfacePage && c.Session.Credential == identity.ViaPage && c.Session.TokenID == ""
}

// made reports whether a fan-out is the caller's own business: a person's, unless
// their token is limited, which then must be the one that made it.
func (c Caller) made(by Caller) bool {
	if !c.Session.Owns(by.Session.Person.ID) {
		return false
	}
	return !c.limited() || c.Session.TokenID != "" && c.Session.TokenID == by.Session.TokenID
}

// actor is how the trail names the caller.
func (c Caller) actor() string { return c.Session.String() }

// person is whose inbox a question goes to.
func (f *Fleet) person(c Caller) string {
	if c.Person != "" {
		return c.Person
	}
	if c.OnBehalf != "" {
		return f.d.PersonOf(c.OnBehalf)
	}
	if c.Session.Person.Kind == identity.KindPerson {
		return c.Session.Person.ID
	}
	return f.d.Owner(f.ctx)
}

// reachable finds a machine the caller may know of. One outside the caller's
// limits and one that does not exist look the same to a limited caller.
func (f *Fleet) reachable(who Caller, id string) (*machine, *Error) {
	m := f.find(id)
	if m == nil || !who.reaches(id, m.tags()) {
		if who.limited() {
			return nil, errorf(Forbidden, "this token does not reach the machine %q", quotable(id))
		}
		return nil, errorf(NotFound, "there is no machine %q", quotable(id))
	}
	return m, nil
}

// seen is reachable with a scope before it.
func (f *Fleet) seen(who Caller, scope, id string) (*machine, *Error) {
	if err := who.may(scope); err != nil {
		return nil, err
	}
	return f.reachable(who, id)
}

// quotable is a foreign name, short enough for a message.
func quotable(s string) string { return fit.Cut(fit.Storable(s), 80) }

package tool

import (
	"parley/internal/approval"
	"parley/internal/identity"
)

// Mandate is what a run may do on machines for the person it acts for: never more
// than the credential that started it. The zero value, which runs have that nobody
// started with a credential (schedules, rooms), allows nothing.
type Mandate struct {
	// Person is the id of whose credential it is; their inbox gets the questions.
	Person string `json:"person,omitzero"`
	// Token and Page name the credential, so that whoever acts can see whether it
	// still stands.
	Token  string          `json:"token,omitzero"`
	Page   string          `json:"page,omitzero"`
	Scopes identity.Scopes `json:"scopes,omitzero"`
}

// reach is what tools act by: an agent never has more, whoever it acts for.
var reach = identity.Expand(identity.FleetRead, identity.FleetSensitive, identity.FleetCall, identity.FleetUnattended)

// MandateOf is what a session can hand to a run.
func MandateOf(s identity.Actor) Mandate {
	return Mandate{Person: s.Person.ID, Token: s.TokenID, Page: s.PageID, Scopes: s.Scopes.Intersect(reach)}
}

// Narrow is the mandate after words with another one joined the run: what both
// allow.
func (m Mandate) Narrow(other Mandate) Mandate {
	m.Scopes = m.Scopes.Intersect(other.Scopes)
	return m
}

// Within reports whether the other mandate allows everything that this one does.
func (m Mandate) Within(other Mandate) bool { return m.Narrow(other).Scopes.Equal(m.Scopes) }

// Consent is whether a tool that asks by itself would ask about a call, and of whom.
type Consent struct {
	Asks   bool
	Policy approval.Policy
}

package identity

import (
	"slices"
	"strings"
)

// Role is what a connection is: somebody who operates, or a node that offers
// capabilities. A token has one.
type Role string

// The roles.
const (
	RoleOperator Role = "operator"
	RoleNode     Role = "node"
)

// Valid reports whether it is one of the roles.
func (r Role) Valid() bool { return r == RoleOperator || r == RoleNode }

// Default is what a token of the role gets when nobody says what.
func (r Role) Default() Scopes { return r.cut(Expand("*")) }

// cut keeps what the role may hold at all.
func (r Role) cut(s Scopes) Scopes {
	switch {
	case r == RoleOperator:
		return s.Without(NodeRegister)
	case r == RoleNode && s.Has(NodeRegister):
		return Scopes{sorted: []string{NodeRegister}}
	default:
		return Scopes{}
	}
}

// Grant is requested ∩ allowed by the credential ∩ allowed by the role.
func Grant(requested []string, credential Scopes, role Role) Scopes {
	return role.cut(Expand(requested...).Intersect(credential))
}

// AllowsMachine reports whether the machine: and tag: limits let the grant reach
// a machine. Without limits it reaches all. It does not look at fleet:… scopes.
func (s Scopes) AllowsMachine(id string, tags []string) bool {
	limits := s.limits()
	if len(limits) == 0 {
		return true
	}
	for _, limit := range limits {
		if name, ok := strings.CutPrefix(limit, tagPrefix); ok && slices.Contains(tags, name) {
			return true
		}
		if limit == machinePrefix+id {
			return true
		}
	}
	return false
}

// Limited reports whether the grant reaches only some machines.
func (s Scopes) Limited() bool { return len(s.limits()) > 0 }

// AllowsSender reports whether the grant may speak as sender, where own is the
// sender bound to the person behind it.
func (s Scopes) AllowsSender(sender, own string) bool {
	if s.Has(TalkAdmin) || (s.Has(Talk) && sender == own) {
		return true
	}
	return Senders{Patterns: s.SenderPatterns()}.Has(sender)
}

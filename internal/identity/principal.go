package identity

import "time"

// Kind tells the sorts of principals apart.
type Kind string

// The kinds of principals.
const (
	KindPerson  Kind = "person"
	KindAgent   Kind = "agent"
	KindMachine Kind = "machine"
	KindDevice  Kind = "device"
	// KindHub is the hub itself, when it acts for nobody.
	KindHub Kind = "hub"
)

// Principal is whoever acts.
type Principal struct {
	Kind Kind   `json:"kind"`
	ID   string `json:"id"`
	Name string `json:"name"`
}

// String is how the audit trail names a principal: "person:alice".
func (p Principal) String() string {
	if p.Name == "" {
		return string(p.Kind) + ":" + p.ID
	}
	return string(p.Kind) + ":" + p.Name
}

// Session is an authenticated principal with what it may do. It is a value: a
// face narrows Scopes, fills Address and passes it on.
type Session struct {
	Principal Principal
	// Owner is set for the person who owns the hub.
	Owner bool
	// Via is the sort of credential; empty when none was needed (local socket).
	Via TokenKind
	// Role is what the credential may be used as.
	Role Role
	// TokenID, PageID and Device name the credential; each may be empty.
	TokenID string
	PageID  string
	Device  string
	// Scopes is what the credential allows. A pairing token allows nothing but Pair.
	Scopes Scopes
	// Expires is when the credential ends; zero means never.
	Expires time.Time
	// Address is where the caller is; faces fill it for the audit trail.
	Address string
}

// Admin reports whether the session may reach other people's things.
func (s Session) Admin() bool { return s.Scopes.Has(Admin) }

// Owns reports whether a thing of the principal is this session's business.
func (s Session) Owns(principalID string) bool {
	return s.Admin() || (principalID != "" && s.Principal.ID == principalID)
}

// Hub is the session of the hub acting by itself. It may do everything.
func Hub() Session {
	return Session{Principal: Principal{Kind: KindHub, ID: "hub", Name: "hub"}, Role: RoleOperator, Scopes: Expand(Admin)}
}

// Local is the session of somebody who proved to be the hub's owner by other
// means than a secret: the Unix socket's peer, or whoever can open the data folder.
func Local(owner Person) Session {
	return Session{Principal: owner.Principal(), Owner: true, Role: RoleOperator, Scopes: Expand(Admin)}
}

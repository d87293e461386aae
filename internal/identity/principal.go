package identity

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

// Principal names somebody.
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

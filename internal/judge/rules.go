package judge

import "slices"

// Rules are the hub's (policy.approvals): who must agree to certain calls. They bind
// in every mode and on every surface.
type Rules []Rule

// Rule is one of them; the first about a call counts.
type Rule struct {
	// Tools are names; a trailing * is a prefix. Class is "read-only", "mutating" or
	// "sensitive". Both empty mean whatever changes something.
	Tools []string
	Class string
	Need
}

func (r Rules) about(c Call) (Rule, bool) {
	i := slices.IndexFunc(r, func(one Rule) bool {
		return (one.Class == "" || one.Class == c.Label) && (len(one.Tools) == 0 || Matches(one.Tools, c.Tool))
	})
	if i < 0 {
		return Rule{}, false
	}
	one := r[i]
	return one, len(one.Tools) > 0 || one.Class != "" || c.Label != ReadOnly
}

// The classes as rules write them.
const (
	ReadOnly  = "read-only"
	Mutating  = "mutating"
	Sensitive = "sensitive"
)

package policy

import (
	"errors"
	"fmt"
	"regexp"
	"unicode/utf8"

	"parley.internal/protocol/kenny"
)

// AppliesShell is the kind of rule for POSIX shell scripts. It exists only in
// the built-in catalogue: an operator's powershell rules cover both shells.
const AppliesShell kenny.AppliesTo = "shell"

// Rule is a deny rule in force.
type Rule struct {
	ID        string
	AppliesTo kenny.AppliesTo
	// Class groups built-in rules by the harm they prevent; empty for an
	// operator's.
	Class   string
	Pattern string
	Reason  string
	Builtin bool
}

// Refusal is the message of a blocked call. It names the rule, so that whoever
// wonders can look it up, and never repeats the call.
func (r Rule) Refusal() string {
	return fmt.Sprintf("refused by the safety guard: %s [%s]", r.Reason, r.ID)
}

// Bounds of an operator's rule.
const (
	maxPattern = 1024
	maxReason  = 200
)

var operatorID = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{0,63}$`)

// ErrBadRule is what every refusal of an operator's rule wraps.
var ErrBadRule = errors.New("not a usable rule")

// Validate holds a rule an operator wants to add to the form of the interface
// for operators.
func (s *Set) Validate(r kenny.Rule) error {
	switch {
	case !operatorID.MatchString(r.ID):
		return fmt.Errorf("%w: id needs a small letter or digit, then up to 63 of a-z 0-9 _ . -", ErrBadRule)
	case s.isBuiltin(r.ID):
		return fmt.Errorf("%w: %q is a built-in rule, which cannot be replaced", ErrBadRule, r.ID)
	case !r.AppliesTo.Valid():
		return fmt.Errorf("%w: applies_to must be powershell, self_protection or path", ErrBadRule)
	}
	if n := utf8.RuneCountInString(r.Pattern); n < 1 || n > maxPattern {
		return fmt.Errorf("%w: pattern needs 1 to %d characters", ErrBadRule, maxPattern)
	}
	if n := utf8.RuneCountInString(r.Reason); n < 1 || n > maxReason {
		return fmt.Errorf("%w: reason needs 1 to %d characters", ErrBadRule, maxReason)
	}
	if _, err := regexp.Compile(r.Pattern); err != nil {
		return fmt.Errorf("%w: pattern: %w", ErrBadRule, err)
	}
	return nil
}

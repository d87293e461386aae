package policy

import (
	"regexp"
	"slices"

	"parley.internal/protocol/kenny"
)

// Set is the rules in force: the built-in ones and an operator's. It never
// changes; a new operator list makes a new Set, to be swapped in atomically.
type Set struct {
	builtin  []compiled
	operator []compiled
}

// compiled is a rule with its matchers. Built-in rules read differently in a
// script, where a path is one word among others, than on a path alone.
type compiled struct {
	Rule
	script, path matcher
	// keepQuotes spares a rule the form without quotes, where it would take
	// the second word of a quoted name for an argument.
	keepQuotes bool
}

// Skipped is an operator's rule that could not be used, and why.
type Skipped struct {
	Rule kenny.Rule
	Err  error
}

// WithOperator gives a Set with this operator list in place of an earlier one.
// A rule that does not compile is skipped and reported; the others hold, and
// the built-in ones always do.
func (s *Set) WithOperator(rules []kenny.Rule) (*Set, []Skipped) {
	next := &Set{builtin: s.builtin}
	var skipped []Skipped
	for _, r := range rules {
		re, err := regexp.Compile(r.Pattern)
		if err != nil {
			skipped = append(skipped, Skipped{Rule: r, Err: err})
			continue
		}
		next.operator = append(next.operator, compiled{
			Rule:   Rule{ID: r.ID, AppliesTo: r.AppliesTo, Pattern: r.Pattern, Reason: r.Reason},
			script: matcher{re, needles(r.Pattern)}, path: matcher{re, needles(r.Pattern)},
		})
	}
	return next, skipped
}

// Rules lists what is in force, in the order it is tried.
func (s *Set) Rules() []Rule {
	var out []Rule
	for _, c := range slices.Concat(s.builtin, s.operator) {
		out = append(out, c.Rule)
	}
	return out
}

func (s *Set) isBuiltin(id string) bool {
	return slices.ContainsFunc(s.builtin, func(c compiled) bool { return c.ID == id })
}

// first tries built-in rules before the operator's; the first match wins.
func (s *Set) first(match func(compiled) bool) (Rule, bool) {
	for _, list := range [][]compiled{s.builtin, s.operator} {
		if i := slices.IndexFunc(list, match); i >= 0 {
			return list[i].Rule, true
		}
	}
	return Rule{}, false
}

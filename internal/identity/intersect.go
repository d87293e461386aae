package identity

import (
	"slices"
	"strings"
)

// Intersect is what both grants allow. It can only narrow:
//
//   - talk:sender patterns meet as patterns: `tg:*` and `tg:12*` give `tg:12*`;
//     talk:admin covers every pattern.
//   - machine: and tag: limits of either side stay. Two different lists give
//     what they share; sharing nothing leaves no fleet scope at all.
func (s Scopes) Intersect(other Scopes) Scopes {
	set := map[string]bool{}
	for _, name := range s.sorted {
		if !isParametrised(name) && other.Has(name) {
			set[name] = true
		}
	}
	for _, pattern := range senderPatterns(s, other) {
		set[pattern] = true
	}
	limits, impossible := meetLimits(s.limits(), other.limits())
	for _, limit := range limits {
		set[limit] = true
	}
	if impossible {
		dropFleet(set)
	}
	return fromSet(set)
}

// Covers reports whether everything that other allows is allowed here too: its
// scopes, its machines and its senders.
func (s Scopes) Covers(other Scopes) bool {
	if !other.reachesMachines() {
		// Which machines is then no question.
		s, other = s.unlimited(), other.unlimited()
	}
	return other.Intersect(s).Equal(other)
}

func (s Scopes) reachesMachines() bool {
	return slices.ContainsFunc(s.sorted, func(name string) bool { return name == Admin || strings.HasPrefix(name, "fleet:") })
}

func (s Scopes) unlimited() Scopes {
	return Scopes{sorted: slices.DeleteFunc(s.Sorted(), isLimit)}
}

// Without is the grant less one scope.
func (s Scopes) Without(scope string) Scopes {
	set := map[string]bool{}
	for _, name := range s.sorted {
		if name != scope {
			set[name] = true
		}
	}
	return fromSet(set)
}

// limits are the machine: and tag: members.
func (s Scopes) limits() []string {
	var limits []string
	for _, name := range s.sorted {
		if isLimit(name) {
			limits = append(limits, name)
		}
	}
	return limits
}

func isLimit(name string) bool {
	return strings.HasPrefix(name, machinePrefix) || strings.HasPrefix(name, tagPrefix)
}

func meetLimits(a, b []string) (both []string, impossible bool) {
	if len(a) == 0 || len(b) == 0 {
		return append(a, b...), false
	}
	have := map[string]bool{}
	for _, name := range a {
		have[name] = true
	}
	for _, name := range b {
		if have[name] {
			both = append(both, name)
		}
	}
	return both, len(both) == 0
}

// dropFleet also drops admin, which would stand for the fleet.
func dropFleet(set map[string]bool) {
	delete(set, Admin)
	for name := range set {
		if strings.HasPrefix(name, "fleet:") {
			delete(set, name)
		}
	}
}

func senderPatterns(a, b Scopes) []string {
	var met []string
	for _, pa := range a.patterns() {
		for _, pb := range b.patterns() {
			if narrower, ok := meetPatterns(pa, pb); ok {
				met = append(met, senderPrefix+narrower)
			}
		}
	}
	return met
}

// patterns are the talk:sender members; talk:admin counts as "*", but two
// talk:admin meet in talk:admin itself and need no pattern.
func (s Scopes) patterns() []string {
	var patterns []string
	for _, name := range s.sorted {
		if pattern, ok := strings.CutPrefix(name, senderPrefix); ok {
			patterns = append(patterns, pattern)
		}
	}
	if s.Has(TalkAdmin) {
		patterns = append(patterns, adminPattern)
	}
	return patterns
}

// adminPattern cannot be written by anybody: a parameter has no NUL.
const adminPattern = "\x00"

func meetPatterns(a, b string) (string, bool) {
	switch {
	case a == adminPattern && b == adminPattern:
		return "", false
	case a == adminPattern:
		return b, true
	case b == adminPattern || covers(b, a):
		return a, true
	case covers(a, b):
		return b, true
	default:
		return "", false
	}
}

// covers reports whether everything that narrow matches is matched by wide.
func covers(wide, narrow string) bool {
	prefix, open := strings.CutSuffix(wide, "*")
	if !open {
		return wide == narrow
	}
	return strings.HasPrefix(strings.TrimSuffix(narrow, "*"), prefix)
}

package policy

import (
	"regexp"
	"regexp/syntax"
	"strings"
)

// Most scripts mention nothing of what most rules are about. A rule therefore
// knows its needles: small-letter texts of which at least one occurs in
// everything it can match. A text without any is settled by a plain search,
// many times faster than by the pattern.

// matcher is a pattern with its needles.
type matcher struct {
	re      *regexp.Regexp
	needles []string
}

func newMatcher(pattern string) matcher {
	return matcher{regexp.MustCompile(pattern), needles(pattern)}
}

// needles derives them from a pattern; none means: always try the pattern.
func needles(pattern string) []string {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	return required(re.Simplify())
}

// required gives texts of which one must occur, or nil if nothing is certain.
func required(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		return []string{strings.ToLower(string(re.Rune))}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpConcat:
		var best []string
		for _, sub := range re.Sub {
			if set := required(sub); better(set, best) {
				best = set
			}
		}
		return best
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			set := required(sub)
			if set == nil {
				return nil
			}
			all = append(all, set...)
		}
		return all
	}
	return nil
}

// better prefers the set whose shortest text is longer: it occurs more rarely.
func better(a, b []string) bool {
	if a == nil {
		return false
	}
	return b == nil || shortest(a) > shortest(b) || (shortest(a) == shortest(b) && len(a) < len(b))
}

func shortest(set []string) int {
	n := len(set[0])
	for _, s := range set[1:] {
		n = min(n, len(s))
	}
	return n
}

// mentions reports whether one of the needles occurs in a small-letter text.
func mentions(lower string, needles []string) bool {
	if needles == nil {
		return true
	}
	for _, n := range needles {
		if strings.Contains(lower, n) {
			return true
		}
	}
	return false
}

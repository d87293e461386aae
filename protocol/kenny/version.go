package kenny

import (
	"cmp"
	"regexp"
	"strings"
)

// CompareVersions orders versions as people mean them: by number, component by
// component, so that v1.10 is newer than 1.9; what is before a release (1.2.0-rc.1)
// is older than it, and what was built after one (1.2.0-5-gabcdef, as git describes
// it) is newer. A missing or unparsable component counts as 0, so that a build
// without a version ("dev") is older than any other. What follows a plus says
// nothing.
func CompareVersions(a, b string) int {
	x, y := parseVersion(a), parseVersion(b)
	if c := compareComponents(x.numbers, y.numbers); c != 0 {
		return c
	}
	if c := compareNumbers(x.after, y.after); c != 0 {
		return c
	}
	return compareBefore(x.before, y.before)
}

// compareProtocols orders versions of the protocol, which are numbers and nothing
// else: what is none counts as 0.
func compareProtocols(a, b string) int {
	return compareComponents(strings.Split(a, "."), strings.Split(b, "."))
}

func compareComponents(a, b []string) int {
	for i := range max(len(a), len(b)) {
		if c := compareNumbers(component(a, i), component(b, i)); c != 0 {
			return c
		}
	}
	return 0
}

// version is a version taken apart.
type version struct {
	numbers []string
	before  string // what makes it older than its numbers say: rc.1
	after   string // how many changes it is newer than its numbers say
}

// described is how git names a build after a release.
var described = regexp.MustCompile(`^(?:(.+)-)?([0-9]+)-g[0-9a-f]{4,}(?:-dirty)?$`)

func parseVersion(s string) version {
	s, _, _ = strings.Cut(s, "+")
	s = strings.TrimPrefix(strings.TrimPrefix(s, "v"), "V")
	core, rest, _ := strings.Cut(s, "-")
	v := version{numbers: strings.Split(core, "."), before: rest}
	if g := described.FindStringSubmatch(rest); g != nil {
		v.before, v.after = g[1], strings.TrimLeft(g[2], "0")
	}
	return v
}

// compareBefore orders what follows the numbers: nothing is the newest, numbers come
// before words and count as numbers.
func compareBefore(a, b string) int {
	switch {
	case a == b:
		return 0
	case a == "":
		return 1
	case b == "":
		return -1
	}
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(as), len(bs)) {
		x, y := isNumber(as[i]), isNumber(bs[i])
		var c int
		switch {
		case x && y:
			c = compareNumbers(component(as, i), component(bs, i))
		case x:
			c = -1
		case y:
			c = 1
		default:
			c = strings.Compare(as[i], bs[i])
		}
		if c != 0 {
			return c
		}
	}
	return cmp.Compare(len(as), len(bs))
}

// component gives the digits of component i without leading zeros; "" is zero.
func component(parts []string, i int) string {
	if i >= len(parts) || !isNumber(parts[i]) {
		return ""
	}
	return strings.TrimLeft(parts[i], "0")
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// compareNumbers compares digits as text, so that no length overflows.
func compareNumbers(a, b string) int {
	if c := cmp.Compare(len(a), len(b)); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}

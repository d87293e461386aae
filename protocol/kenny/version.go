package kenny

import (
	"cmp"
	"strings"
)

// CompareVersions orders dotted versions by number, component by component:
// 0.10 is newer than 0.8. A missing or unparsable component counts as 0.
func CompareVersions(a, b string) int {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(as), len(bs)) {
		if c := compareNumbers(component(as, i), component(bs, i)); c != 0 {
			return c
		}
	}
	return 0
}

// component gives the digits of component i without leading zeros; "" is zero.
func component(parts []string, i int) string {
	if i >= len(parts) {
		return ""
	}
	for _, r := range parts[i] {
		if r < '0' || r > '9' {
			return ""
		}
	}
	return strings.TrimLeft(parts[i], "0")
}

// compareNumbers compares digits as text, so that no length overflows.
func compareNumbers(a, b string) int {
	if c := cmp.Compare(len(a), len(b)); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}

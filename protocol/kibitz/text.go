package kibitz

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// cut keeps the first most characters.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	n := 0
	for i := range s {
		if n == most {
			return s[:i]
		}
		n++
	}
	return s
}

// CleanName makes a name fit to show: no control characters, trimmed, at most
// 40 characters, never empty.
func CleanName(s string) string {
	s = strings.TrimSpace(strings.Map(dropControl, s))
	s = strings.TrimSpace(cut(s, MaxName))
	if s == "" {
		return "Guest"
	}
	return s
}

func dropControl(r rune) rune {
	if unicode.IsControl(r) {
		return -1
	}
	return r
}

// quoteReason makes foreign text fit for a reason: reasons end up in logs,
// prompts and pages.
func quoteReason(s string) string { return cut(strings.Map(dropControl, s), 64) }

// lower is Unicode's full lower-casing, which browsers use: one character may
// become two, other than with strings.ToLower.
func lower(s string) string { return cases.Lower(language.Und).String(s) }

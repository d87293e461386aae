package mask

import (
	"regexp"
	"slices"
	"strings"
)

// shape finds one kind of secret in a text; the last group of its pattern is the
// secret, or the whole match where there is none. A text without any of the words
// is not looked at further: most texts have none, and patterns are slow.
type shape struct {
	words   []string
	pattern *regexp.Regexp
}

// secretShapes are what secrets of others look like.
var secretShapes = []shape{
	{[]string{"private key"}, regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`)},
	{[]string{"bearer", "basic"}, regexp.MustCompile(`(?i)\b(?:bearer|basic)\s+([A-Za-z0-9+/=._~-]{8,})`)},
	{[]string{"://"}, regexp.MustCompile(`(?i)[a-z][a-z0-9+.-]*://[^\s/:@]*:([^\s/@]+)@`)},
	{
		[]string{"pass", "pwd", "secret", "token", "key", "credential", "auth"},
		regexp.MustCompile(`(?i)(?:pass(?:word|wd|phrase)?|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credentials?|auth)["']?\s*[=:]\s*("[^"]*"|'[^']*'|[^\s"',;&|)]+)`),
	},
	{
		[]string{" -p", " --p", "-secret", "-token", "key", "-credential"},
		regexp.MustCompile(`(?i)\s--?(?:p(?:ass(?:word|wd|phrase)?|wd?)|secret|token|api-?key|access-?key|credentials?)(?:\s+|=|:)("[^"]*"|'[^']*'|[^\s"',;&|)]+)`),
	},
	{[]string{"securestring"}, regexp.MustCompile(`(?i)convertto-securestring\s+(?:-string\s+)?("[^"]*"|'[^']*'|\S+)`)},
	{[]string{"user"}, regexp.MustCompile(`(?i)net\s+user\s+\S+\s+("[^"]*"|'[^']*'|[^\s/]\S*)`)},
	{
		[]string{"gh", "sk-", "xox", "akia", "eyj"},
		regexp.MustCompile(`\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|sk-[A-Za-z0-9_-]{16,}|xox[abprs]-[A-Za-z0-9-]{10,}|AKIA[0-9A-Z]{16}|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*)`),
	},
	{[]string{"/d/endpoint/"}, regexp.MustCompile(`/d/endpoint/([A-Za-z0-9_-]{20,})`)},
}

// Guess is a text for the eyes of whoever reads a record: besides what is known to be
// secret, what looks like a secret is gone too, whether or not it was one.
func (m *Mask) Guess(s string) string {
	s = m.Text(s)
	lower := strings.ToLower(s)
	for _, sh := range secretShapes {
		if slices.ContainsFunc(sh.words, func(w string) bool { return strings.Contains(lower, w) }) {
			s = replaceLast(sh.pattern, s)
		}
	}
	return s
}

// replaceLast masks the last group of every match, or all of it.
func replaceLast(re *regexp.Regexp, s string) string {
	var out strings.Builder
	end := 0
	for _, m := range re.FindAllStringSubmatchIndex(s, -1) {
		from, to := m[0], m[1]
		if n := len(m); n > 2 && m[n-2] >= 0 {
			from, to = m[n-2], m[n-1]
		}
		out.WriteString(s[end:from])
		out.WriteString(Sign)
		end = to
	}
	out.WriteString(s[end:])
	return out.String()
}

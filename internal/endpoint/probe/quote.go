package probe

import "strings"

// Quote makes a PowerShell literal: single quotes, inside doubled. The
// typographic quotes count as quotes there and are doubled too.
func Quote(s string) string {
	var b strings.Builder
	b.WriteByte('\'')
	for _, r := range s {
		if strings.ContainsRune("'\u2018\u2019\u201a\u201b", r) {
			b.WriteRune(r)
		}
		b.WriteRune(r)
	}
	b.WriteByte('\'')
	return b.String()
}

package offline

import "strings"

// title makes one line of a text: its first sentence, at most 60 characters.
func title(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	for i, r := range s {
		switch r {
		case '.', '!', '?':
			if i+1 == len(s) || s[i+1] == ' ' {
				return strings.TrimSpace(clip(s[:i+1], 60))
			}
		case '。', '！', '？':
			return strings.TrimSpace(clip(s[:i+len(string(r))], 60))
		}
	}
	return strings.TrimSpace(clip(s, 60))
}

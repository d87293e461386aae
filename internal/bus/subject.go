package bus

import (
	"fmt"
	"strings"
)

const hexDigits = "0123456789ABCDEF"

// Token escapes any string into one subject token: letters, digits, `-` and `_` stay, every other byte
// becomes %XX. Different strings give different tokens; the empty string becomes a lone `%`.
func Token(s string) string {
	if s == "" {
		return "%"
	}
	escapes := 0
	for i := range len(s) {
		if !plain(s[i]) {
			escapes++
		}
	}
	if escapes == 0 {
		return s
	}
	b := make([]byte, 0, len(s)+2*escapes)
	for i := range len(s) {
		if c := s[i]; plain(c) {
			b = append(b, c)
		} else {
			b = append(b, '%', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return string(b)
}

func plain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}

// checkSubject allows wildcards only in subscriptions.
func checkSubject(subject string, wildcards bool) error {
	start := 0
	for i := 0; i <= len(subject); i++ {
		if i < len(subject) && subject[i] != '.' {
			if c := subject[i]; c <= ' ' || c == 0x7f {
				return fmt.Errorf("%w: %q", ErrBadSubject, subject)
			}
			continue
		}
		tok := subject[start:i]
		wild := tok == "*" || tok == ">" && i == len(subject)
		if tok == "" || !wild && strings.ContainsAny(tok, "*>") || wild && !wildcards {
			return fmt.Errorf("%w: %q", ErrBadSubject, subject)
		}
		start = i + 1
	}
	return nil
}

func checkQueue(queue string) error {
	if queue == "" || strings.ContainsAny(queue, " \t\r\n.*>") {
		return fmt.Errorf("%w: queue %q", ErrBadSubject, queue)
	}
	return nil
}

func hasWildcard(subject string) bool {
	return strings.ContainsAny(subject, "*>")
}

func checkSize(data []byte, limit int) error {
	if len(data) > limit {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(data), limit)
	}
	return nil
}

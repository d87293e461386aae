package builtin

import "strings"

// splitWords takes a command apart the way sh does, as long as that is simple:
// blanks and plain quotes. It gives up where a shell would do anything else with the
// text: variables, patterns, several commands, redirections, comments.
func splitWords(command string) (words []string, ok bool) {
	const never = "$`\\\n\r\x00" // also inside of double quotes
	const unquoted = ";|&<>(){}*?[]~#!^"
	if strings.ContainsAny(command, never) {
		return nil, false
	}
	var word strings.Builder
	open, quote := false, rune(0)
	for _, r := range command {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			open, quote = true, r
		case r == ' ' || r == '\t':
			if open {
				words = append(words, word.String())
			}
			word.Reset()
			open = false
		case strings.ContainsRune(unquoted, r):
			return nil, false
		default:
			open = true
			word.WriteRune(r)
		}
	}
	if open {
		words = append(words, word.String())
	}
	return words, quote == 0
}

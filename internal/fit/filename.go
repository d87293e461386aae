package fit

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxFileName is how many characters of a file's name are kept.
const maxFileName = 120

// FileName is a file's name that cannot be taken for anything else: no path, no quotes, nothing
// invisible.
func FileName(path string) string {
	name := strings.ToValidUTF8(path[strings.LastIndexAny(path, `/\`)+1:], "_")
	name = strings.Map(func(r rune) rune {
		if r == '"' || r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return '_'
		}
		return r
	}, name)
	name = strings.TrimSpace(name)
	if r := []rune(name); len(r) > maxFileName {
		name = string(r[:maxFileName])
	}
	return cmp.Or(name, "file")
}

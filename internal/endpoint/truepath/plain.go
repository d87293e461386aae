package truepath

import "strings"

// Plain spells a true path the way people do. Windows tells true paths with a
// prefix that switches its own rules off: \\?\C:\x, \\?\UNC\server\share\x.
func Plain(path string) string {
	rest, ok := strings.CutPrefix(path, `\\?\`)
	if !ok {
		return path
	}
	if share, ok := strings.CutPrefix(rest, `UNC\`); ok {
		return `\\` + share
	}
	if len(rest) >= 2 && rest[1] == ':' {
		return rest
	}
	return path // a volume without a letter has no other name
}

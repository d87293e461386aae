package policy

import (
	"regexp"
	"strings"
)

var (
	// winStatement is a statement of PowerShell or cmd, with the sign that ends it.
	winStatement = regexp.MustCompile(`[^;\n&|]*(?:[;\n&|]+|$)`)
	winEnter     = regexp.MustCompile(`(?i)^(?:.*\s/c\s+)?(?:cd|chdir|sl|set-location|pushd|push-location)\s+(?:/d\s+|-\w+\s+)*([a-z]:[\\/]?[^\s;|&"']*|\$\{?env:\w+\}?[^\s;|&"']*|%\w+%[^\s;|&"']*|~)`)
	winRemove    = regexp.MustCompile(`(?i)^(?:remove-item|rmdir|erase|del|ri|rm|rd|move-item|move|ren|rename-item|mv)\b`)
	// winRelative is a name without drive, variable, option or folder above it.
	winRelative = regexp.MustCompile(`^\.?[\\/]?([A-Za-z0-9_*][^:$%=]*)$`)
	// winGlob is a name with a pattern in it.
	winGlob = regexp.MustCompile(`[\w-]*[A-Za-z]{2}[\w-]*[*?][\w*?.-]*`)
)

// windowsLines is a script with the names of what is removed made absolute, where
// it says which folder it is in, and with the endpoint's name for patterns that
// find it.
func windowsLines(script string) string {
	dir := ""
	return winStatement.ReplaceAllStringFunc(script, func(statement string) string {
		bare := strings.TrimSpace(noQuotes.Replace(statement))
		if g := winEnter.FindStringSubmatch(bare); g != nil {
			dir = strings.TrimRight(g[1], `\/`)
		}
		statement = winGlob.ReplaceAllStringFunc(statement, func(name string) string {
			if own := ownName(name); own != "" {
				return own
			}
			return name
		})
		if dir == "" || !winRemove.MatchString(bare) {
			return statement
		}
		return placed(dir, statement)
	})
}

// placed puts the folder before the names of a statement.
func placed(dir, statement string) string {
	words := strings.SplitAfter(statement, " ")
	begun := false // the first word is the command
	for i, w := range words {
		bare := strings.TrimSpace(noQuotes.Replace(w))
		if g := winRelative.FindStringSubmatch(bare); g != nil && begun {
			words[i] = strings.Replace(w, bare, dir+`\`+g[1], 1)
		}
		begun = begun || bare != ""
	}
	return strings.Join(words, "")
}

package policy

import (
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Dialect is the language a script is read as.
type Dialect int

// The dialects.
const (
	// PowerShell, with the cmd lines it often carries.
	PowerShell Dialect = iota
	// POSIXShell is sh and its descendants.
	POSIXShell
)

// Form is one way to read a script.
type Form struct {
	Text string
	// Unquoted: every quote is gone, also around text with blanks.
	Unquoted bool

	lower string // Text in small letters, to look for needles
}

// ScriptForms gives the forms a script is matched in: as it came, normalised,
// and with its own variables and detours resolved; the last two also without
// any quotes; and read as its shell reads it, a plain command a line.
func ScriptForms(d Dialect, script string) []Form {
	n := plainCharacters(script)
	var r, lines string
	if d == PowerShell {
		n = normalPowerShell(n)
		r = n
	} else {
		lines = commandLines(n)
		n = spellOut(n, cStyle)
		r = normalShell(spellOut(n, format))
		n = normalShell(n)
	}
	r = listComma.ReplaceAllString(r, "$1 $2")
	n = collapseBlanks(unquoteWords(n))
	r = collapseBlanks(unquoteWords(resolve(d, collapseBlanks(unquoteWords(r)))))
	if d == PowerShell {
		lines = windowsLines(r)
	}
	forms := []Form{{Text: script}, {Text: n}, {Text: noQuotes.Replace(n), Unquoted: true}, {Text: r}, {Text: noQuotes.Replace(r), Unquoted: true}, {Text: lines}}
	for i := range forms {
		forms[i].lower = strings.ToLower(forms[i].Text)
	}
	return forms
}

// noQuotes drops what quotes remain.
var noQuotes = strings.NewReplacer(`'`, "", `"`, "")

// plainCharacters maps look-alikes onto ASCII and drops what cannot be seen:
// compatibility forms, typographic quotes and dashes (which PowerShell takes
// for the real ones), zero-width and control characters.
func plainCharacters(s string) string {
	s = strings.ReplaceAll(norm.NFKC.String(s), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\r', r == '\u2028', r == '\u2029', r == '\u0085':
			return '\n'
		case r == '\t', r == '\v', r == '\f', unicode.Is(unicode.Zs, r):
			return ' '
		case strings.ContainsRune("‘’‚‛", r):
			return '\''
		case strings.ContainsRune("“”„‟", r):
			return '"'
		case unicode.Is(unicode.Pd, r), r == '\u2212':
			return '-'
		case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Cc, r), unicode.Is(unicode.Mn, r), r == '\u115f', r == '\u3164':
			return -1
		}
		return r
	}, s)
}

var (
	blanks      = regexp.MustCompile(` +`)
	blankLines  = regexp.MustCompile(` ?\n[ \n]*`)
	singleQuote = regexp.MustCompile(`'([^'"\s]*)'`)
	doubleQuote = regexp.MustCompile(`"([^'"\s]*)"`)

	tickLine    = regexp.MustCompile("` *\n")
	caretLine   = regexp.MustCompile(`\^ *\n`)
	joinSingle  = regexp.MustCompile(`' *\+ *'`)
	joinDouble  = regexp.MustCompile(`" *\+ *"`)
	joinMixed   = regexp.MustCompile(`'([^'"\n]*)' *\+ *"([^'"\n]*)"|"([^'"\n]*)" *\+ *'([^'"\n]*)'`)
	parenSingle = regexp.MustCompile(`\( *'([^'\n]*)' *\)`)
	parenDouble = regexp.MustCompile(`\( *"([^"\n]*)" *\)`)

	ifs       = regexp.MustCompile(`\$\{IFS[^}]*\}|\$IFS(?:\$\d)?`)
	emptyVar  = regexp.MustCompile(`\$[@*]|\$\{[@*]\}`)
	dollarStr = regexp.MustCompile(`\$(['"])`)
	// lineEnd is what printf makes of the end of a text: the end of a line.
	lineEnd = regexp.MustCompile(`(?:\\(?:[nrt]|0+|x00))+(['"])`)
	escaped = regexp.MustCompile(`\\([A-Za-z0-9/._*~ -])`)
	braces  = regexp.MustCompile(`\{([^{}\s,'"$]+(?:,[^{}\s,'"$]*)+)\}`)
)

func collapseBlanks(s string) string {
	return strings.TrimSpace(blankLines.ReplaceAllString(blanks.ReplaceAllString(s, " "), "\n"))
}

// unquoteWords removes the quotes around text without blanks, from the inside
// out: v"ss"admin, 'vssadmin', "a'b'c".
func unquoteWords(s string) string {
	return untilStable(s, func(s string) string {
		return doubleQuote.ReplaceAllString(singleQuote.ReplaceAllString(s, "$1"), "$1")
	})
}

// untilStable repeats a step until nothing changes; a few rounds undo any nesting a
// person would write, and the bound keeps hostile nesting cheap.
func untilStable(s string, step func(string) string) string {
	const rounds = 4
	for range rounds {
		next := step(s)
		if next == s {
			break
		}
		s = next
	}
	return s
}

// normalPowerShell undoes backticks, cmd carets and joined literals. A tick at
// a line's end separates words; a caret there joins them, as cmd does.
func normalPowerShell(s string) string {
	s = tickLine.ReplaceAllString(s, " ")
	s = caretLine.ReplaceAllString(s, "")
	s = strings.NewReplacer("`", "", "^", "").Replace(s)
	return untilStable(fillIn(s), func(s string) string {
		s = joinSingle.ReplaceAllString(s, "")
		s = joinDouble.ReplaceAllString(s, "")
		s = joinMixed.ReplaceAllString(s, "'$1$2$3$4'")
		s = parenSingle.ReplaceAllString(s, "'$1'")
		return parenDouble.ReplaceAllString(s, `"$1"`)
	})
}

// normalShell undoes continuations, blanks spelled as variables, escapes of
// plain characters and simple brace lists.
func normalShell(s string) string {
	s = strings.ReplaceAll(s, "\\\n", "")
	s = ifs.ReplaceAllString(s, " ")
	s = emptyVar.ReplaceAllString(s, "")
	s = dollarStr.ReplaceAllString(s, "$1")
	s = lineEnd.ReplaceAllString(s, "$1")
	s = escaped.ReplaceAllString(s, "$1")
	return braces.ReplaceAllStringFunc(s, func(m string) string {
		return strings.ReplaceAll(m[1:len(m)-1], ",", " ")
	})
}

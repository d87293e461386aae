package policy

import (
	"path"
	"regexp"
	"strconv"
	"strings"

	"parley.internal/protocol/kenny"
)

// A script can name what it means in a roundabout way: by a variable it has
// just set, by the output of echo, by a path with detours. The resolved form
// undoes what can be undone by reading from the beginning to the end, once.
// What only running the script would tell stays as it is.

// resolve gives the form of a normalised script in which its own variables,
// echoes and detours are replaced by what they stand for.
func resolve(d Dialect, s string) string {
	if d == PowerShell {
		return foldWindowsPaths(powerShellVariables.in(winEcho.ReplaceAllString(s, "$1")))
	}
	return globCommands(foldPaths(shellVariables.in(echoed.ReplaceAllStringFunc(s, printed))))
}

var (
	// echoed is a command substitution that only prints its arguments.
	echoed = regexp.MustCompile("\\$\\(\\s*(echo|printf)(?:\\s+-[\\w-]+)*\\s+([^()$`|;&<>]*?)\\s*\\)|`\\s*(echo|printf)(?:\\s+-[\\w-]+)*\\s+([^()$`|;&<>]*?)\\s*`")
	// winEcho is a subexpression that is nothing but a variable.
	winEcho = regexp.MustCompile(`\$\(\s*(\$[\w:]+)\s*\)`)
)

// printed is what a command substitution prints. A format is filled in with what
// follows it, and what follows is kept too: a line's end between two of them is
// not seen any more.
func printed(substitution string) string {
	g := echoed.FindStringSubmatch(substitution)
	text := g[2] + g[4]
	pattern, rest, _ := strings.Cut(text, " ")
	if text != "" && strings.ContainsRune(`'"`, rune(text[0])) {
		pattern, rest, _ = strings.Cut(text[1:], text[:1])
	}
	if g[1]+g[3] == "echo" || !directive.MatchString(pattern) {
		return text
	}
	words := strings.Fields(noQuotes.Replace(rest))
	var out strings.Builder
	for left := words; out.Len() <= maxValue; {
		out.WriteString(directive.ReplaceAllStringFunc(pattern, func(d string) string {
			if d == "%%" {
				return "%"
			}
			if len(left) == 0 {
				return ""
			}
			word := left[0]
			left = left[1:]
			return word
		}))
		if len(left) == 0 || len(left) == len(words) {
			break
		}
	}
	return strings.Join(append([]string{out.String()}, words...), " ")
}

// directive is where printf puts something.
var directive = regexp.MustCompile(`%(?:%|[-+ #0-9.]*[a-zA-Z])`)

// globbed is a command that is found by a pattern.
var globbed = regexp.MustCompile(`((?:^|[\n;|&({!]|\b(?:sudo|doas|exec|command|nohup|env|time|nice|xargs|then|do|else)\s)\s*)([^\s;|&(){}<>"'$=]*/[^\s;|&(){}<>"'$=]*)(\s)`)

// feared are programs such a pattern is replaced by if it may mean them.
var feared = []string{"rm", "dd", "mv", "sh", "bash", "find", "chmod", "chown", "shred", "mkfs", "wipefs", "truncate", "cp", "ln", "mount", "umount", "python3", "perl"}

// globCommands names the programs that patterns such as /bin/r? may mean.
func globCommands(s string) string {
	if !strings.ContainsAny(s, "*?[") {
		return s
	}
	return globbed.ReplaceAllStringFunc(s, func(command string) string {
		g := globbed.FindStringSubmatch(command)
		base := path.Base(g[2])
		if !strings.ContainsAny(base, "*?[") || strings.Trim(base, "*") == "" {
			return command
		}
		var names []string
		for _, name := range feared {
			if ok, err := path.Match(base, name); ok && err == nil {
				names = append(names, name)
			}
		}
		if names == nil {
			return command
		}
		return g[1] + strings.Join(names, " ") + g[3]
	})
}

// variables knows how a language sets and uses variables. In set, the groups
// are name and value, as often as there are ways to set one; in use, the name
// and, after it, a value to use when there is none.
type variables struct {
	set, use *regexp.Regexp
	// unset is what a variable stands for that the script never sets: true
	// for nothing, where the language says so.
	unset bool
}

const shellValue = `('[^'\n]*'|"[^"\n]*"|[^\s;|&()<>'"]*)`

var (
	shellVariables = variables{
		set: regexp.MustCompile(`(?:^|[\s;&|({'"])([A-Za-z_]\w*)=` + shellValue +
			`|\bfor\s+([A-Za-z_]\w*)\s+in\s+([^\n;]*)|\bset\s+--\s+()([^\n;&|]*)` +
			`|\b(?:read|mapfile|readarray|getopts\s+\S+|printf\s+-v)\s+(?:-\w+\s+(?:'[^'\n]*'\s+|"[^"\n]*"\s+|[^\sA-Za-z_$;|&<>'"-]\S*\s+)?)*([A-Za-z_][\w ]*)()|\$([A-Za-z_]\w*)\s*(?:=|in\b)()`),
		use:   regexp.MustCompile(`\$(?:([A-Za-z_]\w*|1)|\{([A-Za-z_]\w*|1)(?::?[-=]([^{}]*))?\})`),
		unset: true,
	}
	powerShellVariables = variables{
		set: regexp.MustCompile(`(?i)\$(?:\w+:)?(\w+)\s*=\s*('[^'\n]*'|"[^"\n]*"|[^\s;|&(){}'"]+)` +
			`|\bforeach\s*\(\s*\$(\w+)\s+in\s+([^)\n]*)\)|\bset\s+"?(\w+)=([^&|"\n]*)|\bfor\s+(?:/\w\s+)*%%?(\w)\s+in\s+\(([^)\n]*)\)`),
		use: regexp.MustCompile(`(?i)\$\{?(\w+)\}?|%%?(\w+)%?`),
	}
)

// maxValue bounds what a variable stands for: values made of values grow fast,
// and no path or command is that long.
const maxValue = 512

// maxGrowth bounds by how much values may lengthen a script: judging stays cheap
// whatever it looks like.
const maxGrowth = kenny.MaxScript

// elsewhere is a script that takes variables from another file.
var elsewhere = regexp.MustCompile(`(?:^|[\n;&|]\s*)(?:source|\.|eval)\s`)

// surroundings are variables a script finds set.
var surroundings = map[string]bool{"HOME": true, "TMPDIR": true, "TMP": true, "TEMP": true, "PWD": true, "OLDPWD": true, "USER": true, "LOGNAME": true, "REPLY": true, "1": true}

// unseen stands for a value that is read while the script runs, from a list that
// nobody has seen. It is a character no script has a use for.
const unseen = "\ue000"

var (
	// outside is how a variable gets such a value.
	outside = regexp.MustCompile("^(?:read|mapfile|readarray)\\b|^for\\s.*\\sin\\s+[\"']?(?:\\$\\(|`)\\s*(?:cat\\b|<)")
	// foundBy is a loop over what find found: a rule of its own judges where it looks.
	foundBy = regexp.MustCompile(`\bfind\s[^\n;|&]*\|\s*while\s[^\n;|&]*$`)
)

// fromElsewhere reports whether a statement that sets a variable, the last of what
// was read so far, takes the value from a list nobody has seen.
func fromElsewhere(soFar, statement string) bool {
	return outside.MatchString(statement) && !foundBy.MatchString(soFar[max(0, len(soFar)-maxValue):])
}

// in reads a text from the beginning to the end, and replaces every use of a
// variable by what it was last set to.
func (v variables) in(s string) string {
	if !strings.ContainsAny(s, "$%") {
		return s
	}
	known, room := map[string]string{}, maxGrowth
	v.unset = v.unset && !elsewhere.MatchString(s)
	var out strings.Builder
	for s != "" {
		at := v.set.FindStringSubmatchIndex(s)
		if at == nil {
			out.WriteString(v.replace(s, known, &room))
			break
		}
		out.WriteString(v.replace(s[:at[0]], known, &room))
		written := at[0]
		for i := 2; i < len(at); i += 4 {
			if at[i] < 0 || at[i+2] < 0 {
				continue
			}
			name, value := s[at[i]:at[i+1]], v.replace(s[at[i+2]:at[i+3]], known, &room)
			out.WriteString(s[written:at[i+2]] + value)
			written = at[i+3]
			if name == "" {
				name = "1" // set --
			}
			if fromElsewhere(out.String(), s[at[0]:at[1]]) {
				value = unseen
			}
			for n := range strings.FieldsSeq(name) { // read sets several
				known[strings.ToLower(n)] = strings.NewReplacer(`'`, "", `"`, "", ",", " ").Replace(value)
			}
		}
		out.WriteString(s[written:at[1]])
		s = s[at[1]:]
	}
	return out.String()
}

func (v variables) replace(s string, known map[string]string, room *int) string {
	return v.use.ReplaceAllStringFunc(s, func(use string) string {
		groups := v.use.FindStringSubmatch(use)
		name := groups[1] + groups[2]
		if value, ok := known[strings.ToLower(name)]; ok {
			if value == "" || len(value) > min(maxValue, *room) || strings.ContainsAny(strings.ReplaceAll(strings.ToLower(value), "$env:", ""), "$`") {
				return use // set, to what only running it would tell
			}
			*room -= len(value)
			return value
		}
		if len(groups) > 3 && groups[3] != "" {
			if strings.Contains(use, "=") {
				known[strings.ToLower(name)] = groups[3]
			}
			return groups[3]
		}
		if v.unset && !surroundings[name] && !strings.Contains(use, ":?") {
			return ""
		}
		return use
	})
}

// pathWord is a path with a detour; winWord one of Windows with anything a
// drive's letter may hide behind.
var (
	pathWord = regexp.MustCompile(`/[^\s"'\x60;|&()<>]*`)
	winWord  = regexp.MustCompile(`(?i)(?:\\\\[^\s"'\x60;|&()<>,]+|\b[a-z]:[\\/][^\s"'\x60;|&()<>,]*)`)
)

// foldPaths takes the detours out of absolute paths. A dot at the end means what
// is in a folder, not the folder (cp -r x/. y); two slashes stand for it.
func foldPaths(s string) string {
	return pathWord.ReplaceAllStringFunc(s, func(p string) string {
		if !strings.Contains(p, "/.") && !strings.Contains(p, "//") {
			return p
		}
		if strings.HasSuffix(p, "/.") {
			return strings.TrimSuffix(path.Clean(p), "/") + "//"
		}
		return path.Clean(p)
	})
}

// foldWindowsPaths spells the paths of a script in drive form, without detours.
func foldWindowsPaths(s string) string {
	return winWord.ReplaceAllStringFunc(s, func(p string) string {
		clean := cleanWindowsPrefix(p)
		if !drive.MatchString(clean) {
			return p
		}
		rest := path.Clean("/" + strings.ReplaceAll(clean[2:], `\`, "/"))
		return clean[:2] + strings.ReplaceAll(rest, "/", `\`)
	})
}

// cStyle is the shell's quoting in which characters can be numbers; in a format of
// printf they can be, too.
var (
	cStyle    = regexp.MustCompile(`\$'[^'\n]*'`)
	format    = regexp.MustCompile(`\bprintf\s+(?:'[^'\n]*'|"[^"\n]*")`)
	numbered  = regexp.MustCompile(`\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{4})|([0-7]{1,3}))`)
	formatted = regexp.MustCompile(`["']([^"'\n]*\{\d\}[^"'\n]*)["']\s*-f\s*((?:["'][^"'\n]*["']\s*,?\s*)+)`)
	quoted    = regexp.MustCompile(`["']([^"'\n]*)["']`)
	listComma = regexp.MustCompile(`(["'])\s*,\s*(["'])`)
)

// spellOut turns numbered characters into what they are, wherever where finds them.
func spellOut(s string, where *regexp.Regexp) string {
	return where.ReplaceAllStringFunc(s, func(q string) string {
		return strings.TrimPrefix(numbered.ReplaceAllStringFunc(q, func(n string) string {
			g := numbered.FindStringSubmatch(n)
			digits, base := g[1]+g[2], 16
			if g[3] != "" {
				digits, base = g[3], 8
			}
			code, err := strconv.ParseUint(digits, base, 16)
			if err != nil || code < ' ' {
				return " "
			}
			return string(rune(code))
		}), "$")
	})
}

// fillIn does what PowerShell's format operator does to literals.
func fillIn(s string) string {
	return formatted.ReplaceAllStringFunc(s, func(expression string) string {
		g := formatted.FindStringSubmatch(expression)
		text := g[1]
		for i, value := range quoted.FindAllStringSubmatch(g[2], -1) {
			text = strings.ReplaceAll(text, "{"+strconv.Itoa(i)+"}", value[1])
		}
		return `'` + text + `'`
	})
}

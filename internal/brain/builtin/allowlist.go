package builtin

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"parley.internal/internal/brain/tool"
)

// arguments checks the arguments of one program. inside tells a path that lies in
// what the person gave.
type arguments func(args []string, inside func(path string) bool) bool

// listed are the programs of the usual allow list, with the options that neither
// write, run, follow nor read anything that is not named. An option that is not
// here asks.
var listed = map[string]arguments{
	"ls":     options{flags: "aAlhrRtS1dFiskpgGonmcuUXvxBC", long: "all almost-all human-readable recursive reverse color classify directory inode size"}.paths(0),
	"cat":    options{flags: "AbeEnstTuv", long: "number show-all number-nonblank squeeze-blank show-ends show-tabs show-nonprinting"}.paths(0),
	"head":   options{flags: "qvz", values: "nc", long: "lines bytes quiet verbose", counts: true}.paths(0),
	"tail":   options{flags: "qvz", values: "nc", long: "lines bytes quiet verbose", counts: true}.paths(0),
	"wc":     options{flags: "clmLw", long: "lines words chars bytes max-line-length"}.paths(0),
	"stat":   options{flags: "t", values: "c", long: "format printf terse"}.paths(0),
	"grep":   grepArguments,
	"pwd":    options{flags: "LP"}.none,
	"uname":  options{flags: "asnrvmpio", long: "all"}.none,
	"date":   options{}.none, // with arguments it reads files and sets the clock
	"whoami": options{}.none,
	"sleep":  sleepArguments,
	"echo":   anyArguments,
	"true":   anyArguments,
	"false":  anyArguments,
}

// options are those of one program.
type options struct {
	flags  string // letters that take no value
	values string // letters that take one, which is never a path
	long   string // words, with or without a value that is never a path
	counts bool   // -5 means -n 5
}

// split tells the operands from the options; ok is false for an option that is
// not known.
func (o options) split(args []string) (operands, seen []string, ok bool) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			return append(operands, args[i+1:]...), seen, true
		case arg == "-" || !strings.HasPrefix(arg, "-"):
			operands = append(operands, arg)
		case strings.HasPrefix(arg, "--"):
			name, _, _ := strings.Cut(arg[2:], "=")
			if !containsWord(o.long, name) {
				return nil, nil, false
			}
			seen = append(seen, name)
		case o.counts && number.MatchString(arg[1:]):
		default:
			letters, takesNext, known := o.letters(arg[1:])
			if !known {
				return nil, nil, false
			}
			seen = append(seen, letters...)
			if takesNext {
				i++
			}
		}
	}
	return operands, seen, true
}

// letters reads a cluster such as -ln or -n5.
func (o options) letters(cluster string) (seen []string, takesNext, known bool) {
	for i, r := range cluster {
		seen = append(seen, string(r))
		switch {
		case strings.ContainsRune(o.values, r):
			return seen, i+1 == len(cluster), true
		case !strings.ContainsRune(o.flags, r):
			return nil, false, false
		}
	}
	return seen, false, true
}

var number = regexp.MustCompile(`^[0-9]{1,9}$`)

func containsWord(list, word string) bool {
	for w := range strings.FieldsSeq(list) {
		if w == word {
			return true
		}
	}
	return false
}

// paths takes operands that are paths, after so many that are not.
func (o options) paths(skip int) arguments {
	return func(args []string, inside func(string) bool) bool {
		operands, _, ok := o.split(args)
		return ok && allInside(operands[min(skip, len(operands)):], inside)
	}
}

// none takes options only.
func (o options) none(args []string, _ func(string) bool) bool {
	operands, _, ok := o.split(args)
	return ok && len(operands) == 0
}

func allInside(paths []string, inside func(string) bool) bool {
	for _, p := range paths {
		if p != "-" && !inside(p) { // "-" is the standard input, which is empty
			return false
		}
	}
	return true
}

// grepArguments knows that the first operand is the pattern, unless one was given as an option.
func grepArguments(args []string, inside func(string) bool) bool {
	o := options{
		flags: "icnlLvwxqshHoEFGPrabz", values: "mABCe",
		long: "ignore-case count line-number files-with-matches files-without-match invert-match word-regexp line-regexp quiet silent no-messages " +
			"only-matching extended-regexp fixed-strings basic-regexp perl-regexp recursive text color max-count after-context before-context context regexp",
	}
	operands, seen, ok := o.split(args)
	skip := 1
	for _, s := range seen {
		if s == "e" || s == "regexp" {
			skip = 0
		}
	}
	return ok && allInside(operands[min(skip, len(operands)):], inside)
}

var shortTime = regexp.MustCompile(`^[0-9]{1,4}(\.[0-9]{1,6})?s?$`)

func sleepArguments(args []string, _ func(string) bool) bool {
	return len(args) == 1 && shortTime.MatchString(args[0])
}

func anyArguments([]string, func(string) bool) bool { return true }

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./-]+$`)

// plainArguments is for programs that somebody else listed, whose options we do not know: every
// word is taken for a path, and an option with anything in it that could be one asks.
func plainArguments(args []string, inside func(string) bool) bool {
	for _, arg := range args {
		if !plainWord.MatchString(arg) {
			return false
		}
		option := strings.HasPrefix(arg, "-")
		if option && strings.ContainsAny(arg, "./") || !option && !inside(arg) {
			return false
		}
	}
	return true
}

// inside tells that a path, links resolved, lies in the workspace or a root. What does
// not exist lies where its folder does.
func (p *Policy) inside(call tool.Call, path string) bool {
	if path == "" {
		return true // an error of the command, and no path
	}
	// Not cleaned: where ".." leads depends on the links before it.
	full := path
	if !filepath.IsAbs(path) {
		full = startOf(call) + string(filepath.Separator) + path
	}
	found, err := resolve(full)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(append([]string{call.Workspace}, p.roots...), func(root string) bool {
		root, err := filepath.EvalSymlinks(root)
		if err != nil {
			return false
		}
		rel, err := filepath.Rel(root, found)
		return err == nil && filepath.IsLocal(rel)
	})
}

// startOf is the folder that relative paths of a call begin in.
func startOf(call tool.Call) string {
	switch {
	case call.Dir == "":
		return call.Workspace
	case filepath.IsAbs(call.Dir):
		return call.Dir
	default:
		return filepath.Join(call.Workspace, call.Dir)
	}
}

// resolve is a path with its links resolved. Its last parts need not exist; among
// those there can be neither links nor ways up.
func resolve(path string) (string, error) {
	rest := ""
	for {
		found, err := filepath.EvalSymlinks(path)
		if err == nil {
			return filepath.Join(found, rest), nil
		}
		if !os.IsNotExist(err) {
			return "", err
		}
		if _, err := os.Lstat(path); err == nil {
			return "", os.ErrPermission // a link to nowhere, yet
		}
		dir, name := filepath.Split(strings.TrimRight(path, string(filepath.Separator)))
		if name == "" || name == ".." || name == "." || dir == path {
			return "", os.ErrPermission
		}
		path, rest = dir, filepath.Join(name, rest)
	}
}

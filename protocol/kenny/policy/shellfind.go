package policy

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// search is a call of find: where it looks, whether it takes everything there, and
// what it does to it.
type search struct {
	roots   []string
	narrow  bool
	deletes bool
	runs    [][]string
}

// find reads what find does to what it finds. Whatever it does to everything below
// a folder is written as done to that folder, all the way down.
func (r *shellReader) find(args []string) {
	s := readSearch(args)
	for i, root := range s.roots {
		s.roots[i] = r.absolute(root)
	}
	if s.deletes && !s.narrow {
		r.emit(append([]string{"rm", "-rf"}, s.roots...), nil)
	}
	for _, run := range s.runs {
		if !s.narrow {
			r.foundRun(s.roots, run)
			continue
		}
		for _, root := range s.roots {
			r.child().command(replaceAll(run, "{}", strings.TrimSuffix(root, "/")+"/"+unknown), nil, "")
		}
	}
}

// foundMark begins what is fed by a find that takes everything below its roots.
const foundMark = "\x00find "

// foundRun reads a command that is run on everything below some folders.
func (r *shellReader) foundRun(roots, run []string) {
	c := r.child()
	run = slices.DeleteFunc(slices.Clone(run), func(w string) bool { return w == "{}" })
	inner := run
	for len(inner) > 0 {
		p, ok := prefixes[inner[0]]
		if !ok {
			break
		}
		inner = p.inner(inner[1:])
	}
	if len(inner) == 0 {
		return
	}
	switch inner[0] {
	case "rm", "unlink", "shred", "/bin/rm", "rmdir":
		c.emit(slices.Concat([]string{"rm", "-rf"}, roots), nil)
	case "chmod", "chown", "chgrp", "chattr":
		c.emit(slices.Concat([]string{inner[0], "-R"}, inner[1:], roots), nil)
	default:
		var below []string
		for _, root := range roots {
			below = append(below, strings.TrimSuffix(root, "/")+"/*")
		}
		c.command(slices.Concat(inner, below), nil, "")
	}
}

// narrowing are find's tests that leave something out.
var narrowing = []string{
	"-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex", "-lname", "-mtime", "-atime", "-ctime", "-mmin", "-amin", "-cmin",
	"-newer", "-newermt", "-newerct", "-anewer", "-cnewer", "-size", "-user", "-group", "-uid", "-gid", "-perm", "-inum", "-samefile", "-links", "-used", "-fstype",
}

func readSearch(args []string) search {
	s := search{}
	i := 0
	for i < len(args) && (args[i] == "-H" || args[i] == "-L" || args[i] == "-P") {
		i++
	}
	for ; i < len(args) && !strings.HasPrefix(args[i], "-") && args[i] != "(" && args[i] != "!"; i++ {
		s.roots = append(s.roots, args[i])
	}
	if len(s.roots) == 0 {
		s.roots = []string{"."}
	}
	for ; i < len(args); i++ {
		i = s.test(args, i)
	}
	return s
}

// test reads the test or action at i and gives the index of its last word.
func (s *search) test(args []string, i int) int {
	switch a := args[i]; {
	case a == "-delete":
		s.deletes = true
	case a == "-empty" || a == "-nouser" || a == "-nogroup":
		s.narrow = true
	case a == "-exec" || a == "-execdir" || a == "-ok" || a == "-okdir":
		end := i + 1
		for end < len(args) && args[end] != ";" && args[end] != "+" {
			end++
		}
		s.runs = append(s.runs, args[i+1:end])
		return end
	case slices.Contains(narrowing, a) && i+1 < len(args):
		negated := i > 0 && (args[i-1] == "!" || args[i-1] == "-not")
		s.narrow = s.narrow || !negated && !takesAll(a, args[i+1])
		return i + 1
	}
	return i
}

// takesAll knows the patterns that every file, or every log, has.
func takesAll(test, pattern string) bool {
	return strings.HasSuffix(test, "name") && slices.Contains([]string{"*", "*.*", "?*", "*.log", "*log*", "*log"}, pattern)
}

// prints is what a statement prints, where the script itself says it: echo, printf,
// cat of a here-document; of find and ls, what they look through.
func (r *shellReader) prints(s *syntax.Stmt) string {
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		return r.printed(s, r.words(c.Args))
	case *syntax.Block:
		return r.printsAll(c.Stmts)
	case *syntax.Subshell:
		return r.printsAll(c.Stmts)
	case *syntax.BinaryCmd:
		if c.Op == syntax.Pipe {
			return r.filtered(c)
		}
		return r.prints(c.X) + r.prints(c.Y)
	}
	return ""
}

// filtered is what a pipeline prints whose last part only leaves something out.
func (r *shellReader) filtered(c *syntax.BinaryCmd) string {
	call, ok := c.Y.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || !slices.Contains([]string{"sort", "head", "tail", "tee", "cat", "uniq", "tr"}, r.joined(call.Args[0])) {
		return ""
	}
	return r.prints(c.X)
}

func (r *shellReader) printsAll(list []*syntax.Stmt) string {
	var all strings.Builder
	for _, s := range list {
		all.WriteString(r.prints(s))
	}
	return all.String()
}

func (r *shellReader) printed(s *syntax.Stmt, words []string) string {
	if len(words) == 0 {
		return ""
	}
	for len(words) > 1 && (words[0] == "sudo" || words[0] == "command" || words[0] == "builtin") {
		words = words[1:]
	}
	switch words[0] {
	case "echo":
		return strings.ReplaceAll(strings.Join(operands(words[1:]), " "), `\n`, "\n") + "\n"
	case "printf":
		return printfText(operands(words[1:]))
	case "cat":
		text, _ := r.hereText(s)
		return text
	case "pwd":
		return r.dir
	case "which", "type":
		return strings.Join(operands(words[1:]), " ")
	case "find":
		if found := readSearch(words[1:]); !found.narrow {
			for i, root := range found.roots {
				found.roots[i] = r.absolute(root)
			}
			return foundMark + strings.Join(found.roots, " ")
		}
	case "ls":
		return r.listed(operands(words[1:]))
	}
	return ""
}

// listed is what ls prints of a folder, and of the root by its usual names.
func (r *shellReader) listed(dirs []string) string {
	if len(dirs) == 1 && r.absolute(dirs[0]) == "/" {
		return "/bin bin etc usr"
	}
	return strings.Join(dirs, " ")
}

// printfText is what printf prints: its format filled in.
func printfText(words []string) string {
	if len(words) == 0 {
		return ""
	}
	text := strings.NewReplacer(`\n`, "\n", `\0`, " ", `\t`, " ").Replace(words[0])
	text = numbered.ReplaceAllStringFunc(text, numberedText)
	left := words[1:]
	out := directive.ReplaceAllStringFunc(text, func(string) string {
		if len(left) == 0 {
			return ""
		}
		w := left[0]
		left = left[1:]
		return w
	})
	return strings.Join(append([]string{out}, left...), " ")
}

// hereText is the text a here-document, a here-string or another command gives a statement.
func (r *shellReader) hereText(s *syntax.Stmt) (string, bool) {
	for _, redirect := range s.Redirs {
		switch {
		case redirect.Hdoc != nil:
			return r.joined(redirect.Hdoc), true
		case redirect.Op == syntax.WordHdoc:
			return r.joined(redirect.Word), true
		case redirect.Op == syntax.RdrIn && len(redirect.Word.Parts) == 1:
			if p, ok := redirect.Word.Parts[0].(*syntax.ProcSubst); ok {
				return r.printsAll(p.Stmts), true
			}
		}
	}
	return "", false
}

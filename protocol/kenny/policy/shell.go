package policy

import (
	"maps"
	"path"
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"parley.internal/protocol/kenny"
)

// A pattern sees letters; a shell sees words. Reading a script the way a shell
// does tells which words are one command, which folder a relative name is in,
// and which program a prefix such as sudo, timeout or xargs really runs. The
// outcome is one more form of the script, a plain command a line, and the same
// rules are tried on it:
//
//	cd /usr; sudo -u root rm -rf "b"in     →     rm -rf /usr/bin

// commandLines spells a script as plain commands, one a line: quotes undone,
// variables filled in, prefixes taken off, relative names made absolute where
// the script says which folder it is in. It gives "" for what is no shell script.
func commandLines(script string) string {
	file := parseShell(script)
	if file == nil {
		return ""
	}
	r := &shellReader{
		vars: map[string]string{}, funcs: map[string]*syntax.Stmt{}, sources: elsewhere.MatchString(script) || otherLanguage.MatchString(script),
		budget: &budget{lines: maxLines, text: kenny.MaxScript, room: maxGrowth},
	}
	r.statements(file.Stmts)
	return strings.Join(r.out, "\n")
}

const (
	// maxLines bounds how many commands loops and functions may be spelled out as.
	maxLines = 4096
	// maxNesting bounds scripts inside scripts and functions calling each other.
	maxNesting = 6
	// maxOpeners bounds the nesting of a text that is parsed: the parser calls
	// itself for each level, and no script of a person is near it.
	maxOpeners = 2048
	// maxItems bounds how many values of a loop are tried.
	maxItems = 16
)

// parseShell gives nil for what is no shell script, or one nested beyond reason.
func parseShell(script string) *syntax.File {
	openers := 0
	for _, opener := range []string{"(", "{", "`", "[", "if", "while", "until", "for", "case", "!", "<<", "\"$", "select", "&&", "||", "|"} {
		openers += strings.Count(script, opener)
	}
	if openers > maxOpeners {
		return nil
	}
	file, err := syntax.NewParser(syntax.KeepComments(true)).Parse(strings.NewReader(script), "")
	if err != nil {
		return nil
	}
	return file
}

// budget is what one script may use up, however it nests.
type budget struct {
	lines int // commands yet to be written
	text  int // characters of scripts inside scripts yet to be read
	room  int // characters yet to be written
	out   []string
}

// otherLanguage is how PowerShell sets a variable: read as a shell's, it would be
// taken for one that is never set.
var otherLanguage = regexp.MustCompile(`\$\w+\s*=[^=]|\bforeach\s*\(`)

// shellReader follows a script from its beginning to its end, through every
// branch. What a subshell changes is forgotten after it.
type shellReader struct {
	vars    map[string]string
	funcs   map[string]*syntax.Stmt
	dir     string // where the script is; "" as long as nobody knows
	depth   int
	sources bool // variables may come from another file
	*budget
}

// child reads on with a copy of what is known, for a subshell or a function.
func (r *shellReader) child() *shellReader {
	c := *r
	c.vars = maps.Clone(r.vars)
	c.depth++
	return &c
}

// script reads a text that the script runs.
func (r *shellReader) script(text string) {
	if r.depth >= maxNesting || len(text) > r.text {
		return
	}
	r.text -= len(text)
	if file := parseShell(text); file != nil {
		r.child().statements(file.Stmts)
	}
}

func (r *shellReader) statements(list []*syntax.Stmt) {
	for _, s := range list {
		r.statement(s, "")
	}
}

// statement reads one statement; fed is what it reads from its input, as far as
// the script tells.
func (r *shellReader) statement(s *syntax.Stmt, fed string) {
	if s == nil || r.lines <= 0 {
		return
	}
	if text, ok := r.hereText(s); ok {
		fed = text
	}
	switch c := s.Cmd.(type) {
	case nil:
		r.emit(nil, r.redirections(s))
	case *syntax.CallExpr:
		r.call(c, r.redirections(s), fed)
	case *syntax.DeclClause:
		r.assign(c.Args)
	case *syntax.BinaryCmd:
		r.binary(c, fed)
	case *syntax.Block:
		r.within(c.Stmts, fed)
	case *syntax.Subshell:
		r.child().within(c.Stmts, fed)
	case *syntax.FuncDecl:
		r.funcs[c.Name.Value] = c.Body
		r.child().statement(c.Body, "")
	default:
		r.compound(c, fed)
	}
	if _, simple := s.Cmd.(*syntax.CallExpr); !simple && s.Cmd != nil && len(s.Redirs) > 0 {
		r.emit(nil, r.redirections(s))
	}
}

// within reads a group; its first statement gets the group's input.
func (r *shellReader) within(list []*syntax.Stmt, fed string) {
	for _, s := range list {
		r.statement(s, fed)
	}
}

func (r *shellReader) compound(c syntax.Command, fed string) {
	switch c := c.(type) {
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			r.statements(c.Cond)
			r.within(c.Then, fed)
		}
	case *syntax.WhileClause:
		r.statements(c.Cond)
		r.within(c.Do, fed)
	case *syntax.ForClause:
		r.loop(c, fed)
	case *syntax.CaseClause:
		for _, item := range c.Items {
			r.within(item.Stmts, fed)
		}
	case *syntax.TimeClause:
		r.statement(c.Stmt, fed)
	case *syntax.CoprocClause:
		r.statement(c.Stmt, fed)
	}
}

// loop tries a loop's body with the first values of its list.
func (r *shellReader) loop(c *syntax.ForClause, fed string) {
	iter, ok := c.Loop.(*syntax.WordIter)
	if !ok {
		r.within(c.Do, fed)
		return
	}
	items := r.words(iter.Items)
	for i, item := range items {
		if i == maxItems {
			break
		}
		r.vars[iter.Name.Value] = item
		r.within(c.Do, fed)
	}
	if len(items) == 0 {
		r.vars[iter.Name.Value] = unknown
		r.within(c.Do, fed)
	}
}

// binary reads a && b, a || b and pipelines, whose right side is fed by the left.
func (r *shellReader) binary(c *syntax.BinaryCmd, fed string) {
	r.statement(c.X, fed)
	if c.Op != syntax.Pipe && c.Op != syntax.PipeAll {
		r.statement(c.Y, fed)
		return
	}
	r.child().statement(c.Y, r.prints(c.X))
}

// redirections gives the files a statement writes and reads, as it names them.
func (r *shellReader) redirections(s *syntax.Stmt) []string {
	var all []string
	for _, redirect := range s.Redirs {
		op := ""
		switch redirect.Op {
		case syntax.RdrOut, syntax.RdrClob, syntax.RdrAll:
			op = ">"
		case syntax.AppOut, syntax.AppAll:
			op = ">>"
		case syntax.RdrIn, syntax.RdrInOut:
			op = "<"
		default:
			continue
		}
		for _, target := range r.word(redirect.Word) {
			all = append(all, op, r.absolute(target))
		}
	}
	return all
}

// emit writes a command as a line. A word that is not plain loses what could be
// taken for the shell's own signs: here it is one word and nothing else.
func (r *shellReader) emit(words, redirections []string) {
	if len(words)+len(redirections) == 0 || r.lines <= 0 {
		return
	}
	r.lines--
	plain := make([]string, 0, len(words)+len(redirections))
	for _, w := range words {
		plain = append(plain, oneWord.Replace(w))
	}
	for i, w := range redirections {
		if i%2 == 1 {
			w = oneWord.Replace(w)
		}
		plain = append(plain, w)
	}
	line := strings.Join(plain, " ")
	if r.room -= len(line) + 1; r.room >= 0 {
		r.out = append(r.out, line)
	}
}

// unknown stands in a line for what only running the script would tell.
const unknown = "␣"

var oneWord = strings.NewReplacer(" ", unknown, "\t", unknown, "\n", unknown, ";", unknown, "|", unknown, "&", unknown,
	"(", unknown, ")", unknown, "{", unknown, "}", unknown, "<", unknown, ">", unknown, `"`, unknown, "'", unknown, "`", unknown)

// absolute is where a name leads from the folder the script is in.
func (r *shellReader) absolute(name string) string {
	switch {
	case name == "" || strings.HasPrefix(name, "~") || strings.HasPrefix(name, "$"):
		return name
	case strings.HasPrefix(name, "/"):
	case r.dir == "" || strings.HasPrefix(name, unknown):
		return name
	default:
		name = r.dir + "/" + name
	}
	if strings.HasPrefix(name, "~") || strings.HasPrefix(name, "$") {
		return strings.TrimSuffix(name, "/.")
	}
	whole := strings.HasSuffix(name, "/.") && path.Clean(name) != "/"
	name = path.Clean(cleanPOSIX(kenny.Linux, name))
	if whole {
		return name + "//" // what is in it, see foldPaths
	}
	return name
}

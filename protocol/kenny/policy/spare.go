package policy

import (
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// What a script only prints or looks for does nothing: echo "never run rm -rf /",
// grep 'DROP DATABASE' dump.sql, a comment. Such texts are taken out before the
// rules are tried. A text that goes into a pipe, a file, a variable or another
// command stays, as does everything in a script that two shells might quote
// differently.

// withoutPrinted takes comments, and the texts of commands that only print or look
// for them, out of a shell script.
func withoutPrinted(script string) string {
	if strings.Contains(script, "$'") || strings.Contains(script, `$"`) || strings.ContainsAny(script, "\r\x00") {
		return script
	}
	if !spareWorth.MatchString(script) || changesSpeakers.MatchString(script) {
		return script
	}
	file := parseShell(script)
	if file == nil {
		return script
	}
	var p printedOnly
	p.statements(file.Stmts)
	return p.without(script)
}

// spareWorth finds scripts in which there may be something to take out.
var spareWorth = regexp.MustCompile(`#|\b(?:echo|printf|cat|[ef]?grep|rg|ag|ack|logger|git|man|apropos|whatis|which|type)\b`)

// changesSpeakers is how a script gives a program another meaning, or its output
// another end: then nothing is certain.
var changesSpeakers = regexp.MustCompile(`\b(?:exec|alias|function|enable|source|coproc)\b|\(\s*\)`)

// speakers are programs that do nothing with their arguments but print, note or
// look for them.
var speakers = map[string]bool{
	"echo": true, "printf": true, "grep": true, "egrep": true, "fgrep": true, "rg": true, "ag": true, "ack": true, "logger": true,
	"man": true, "apropos": true, "whatis": true, "which": true, "type": true,
}

// span is a piece of a script, and what stands in its place.
type span struct {
	from, to uint
	by       string
}

// printedOnly collects the pieces to take out.
type printedOnly struct{ spans []span }

func (p *printedOnly) statements(list []*syntax.Stmt) {
	for _, s := range list {
		p.statement(s)
	}
}

// statement looks only into what runs one after the other at the top and in
// branches: whatever feeds something else is left alone.
func (p *printedOnly) statement(s *syntax.Stmt) {
	for _, c := range s.Comments {
		p.spans = append(p.spans, span{c.Pos().Offset(), c.End().Offset(), ""})
	}
	if !onlyToScreen(s) {
		return
	}
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		p.call(s, c)
	case *syntax.BinaryCmd:
		if c.Op == syntax.AndStmt || c.Op == syntax.OrStmt {
			p.statement(c.X)
			p.statement(c.Y)
		}
	case *syntax.Block:
		p.statements(c.Stmts)
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			p.statements(c.Then)
		}
	}
}

// onlyToScreen reports whether a statement's output ends where people look.
func onlyToScreen(s *syntax.Stmt) bool {
	return !slices.ContainsFunc(s.Redirs, func(r *syntax.Redirect) bool {
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc, syntax.DplOut:
			return false
		case syntax.RdrOut, syntax.AppOut, syntax.RdrAll:
			return r.Word.Lit() != "/dev/null" && r.Word.Lit() != "/dev/stderr"
		}
		return true
	})
}

func (p *printedOnly) call(s *syntax.Stmt, c *syntax.CallExpr) {
	if len(c.Args) == 0 || len(c.Assigns) > 0 {
		return
	}
	name := c.Args[0].Lit()
	if name == "cat" && len(c.Args) == 1 {
		p.here(s)
	}
	if !speakers[name] && !(name == "git" && len(c.Args) > 1 && (c.Args[1].Lit() == "commit" || c.Args[1].Lit() == "tag")) {
		return
	}
	for _, w := range c.Args[1:] {
		if inert(w.Parts) && strings.ContainsAny(quotedText(w), " \t") {
			p.spans = append(p.spans, span{w.Pos().Offset(), w.End().Offset(), "''"})
		}
	}
}

// here takes out a here-document that is printed as it is.
func (p *printedOnly) here(s *syntax.Stmt) {
	for _, r := range s.Redirs {
		if r.Hdoc != nil && inert(r.Hdoc.Parts) {
			p.spans = append(p.spans, span{r.Hdoc.Pos().Offset(), r.Hdoc.End().Offset(), ""})
		}
	}
}

// inert reports whether nothing runs inside a word.
func inert(parts []syntax.WordPart) bool {
	for _, part := range parts {
		switch w := part.(type) {
		case *syntax.Lit, *syntax.SglQuoted:
		case *syntax.DblQuoted:
			if !inert(w.Parts) {
				return false
			}
		case *syntax.ParamExp:
			if !w.Short {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// quotedText is what stands in quotes in a word.
func quotedText(w *syntax.Word) string {
	var text strings.Builder
	for _, part := range w.Parts {
		switch q := part.(type) {
		case *syntax.SglQuoted:
			text.WriteString(q.Value)
		case *syntax.DblQuoted:
			for _, inner := range q.Parts {
				if lit, ok := inner.(*syntax.Lit); ok {
					text.WriteString(lit.Value)
				}
			}
		}
	}
	return text.String()
}

// without gives the script with the pieces replaced.
func (p *printedOnly) without(script string) string {
	slices.SortFunc(p.spans, func(a, b span) int { return int(a.from) - int(b.from) })
	var out strings.Builder
	at := uint(0)
	for _, s := range p.spans {
		if s.from < at || s.to > uint(len(script)) || s.to < s.from {
			continue
		}
		out.WriteString(script[at:s.from] + s.by)
		at = s.to
	}
	return out.String() + script[at:]
}

// written is a PowerShell statement that only writes one literal, at the beginning
// of what is left of a script: nothing before it can have opened a quote.
var written = regexp.MustCompile(`(?i)^\s*(?:write-(?:output|host|verbose|warning|information|debug)|select-string\s+(?:-path\s+[\w.*\\/:-]+\s+)?-pattern)\s+(?:'[^'‘’‚‛\n]*'|"[^"“”„` + "`" + `$\n]*")\s*(?:$|[;\n])`)

// withoutWritten takes what is only written out of the beginning of a PowerShell
// script.
func withoutWritten(script string) string {
	for {
		at := written.FindStringIndex(script)
		if at == nil || at[1] == 0 {
			return script
		}
		script = script[at[1]:]
	}
}

// Package plain reads commands that hold no surprise: one program and its arguments, as
// a shell would take them apart, with nothing in them that a shell would do more with.
//
//	words, ok := plain.Words(`git commit -m "two words"`)   // git, commit, -m, two words
//	_, ok = plain.Words(`git status; rm -rf /`)             // not ok
//
// It guarantees that what it accepts runs exactly one program with exactly these words.
// Lists of harmless commands and standing rules compare words, and so never letters that
// a shell reads differently. When in doubt it says no.
package plain

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

const (
	// longest bounds what is parsed: nobody lists or rules a longer command.
	longest = 8 << 10
	// never holds what a shell acts on also inside of double quotes, and what ends a line.
	never = "$`\\\n\r\x00"
	// acts holds what some shell acts on outside of quotes, whichever runs here.
	acts = "*?[]{}~#!^"
)

// Words takes a command apart, if it is plain.
func Words(command string) (words []string, ok bool) {
	if len(command) > longest || strings.ContainsAny(command, never) {
		return nil, false
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX), syntax.KeepComments(true)).Parse(strings.NewReader(command), "")
	if err != nil || len(file.Stmts) != 1 || len(file.Last) > 0 {
		return nil, false
	}
	s := file.Stmts[0]
	call, isCall := s.Cmd.(*syntax.CallExpr)
	if !isCall || s.Background || s.Negated || s.Coprocess || s.Semicolon.IsValid() || len(s.Redirs)+len(s.Comments)+len(call.Assigns) > 0 {
		return nil, false
	}
	for _, arg := range call.Args {
		word, ok := text(arg.Parts)
		if !ok {
			return nil, false
		}
		words = append(words, word)
	}
	return words, len(words) > 0
}

// text is a word without its quotes.
func text(parts []syntax.WordPart) (string, bool) {
	var b strings.Builder
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(p.Value, acts) {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, inner := range p.Parts {
				lit, isLit := inner.(*syntax.Lit)
				if !isLit {
					return "", false
				}
				b.WriteString(lit.Value)
			}
		default:
			return "", false
		}
	}
	return b.String(), true
}

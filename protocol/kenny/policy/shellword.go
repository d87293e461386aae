package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// words gives what a list of words expands to.
func (r *shellReader) words(list []*syntax.Word) []string {
	var all []string
	for _, w := range list {
		all = append(all, r.word(w)...)
	}
	return all
}

// word expands one word: quotes undone, variables filled in, split at blanks where
// a shell would, brace lists spelled out.
func (r *shellReader) word(w *syntax.Word) []string {
	if w == nil {
		return nil
	}
	f := &fields{}
	for _, part := range w.Parts {
		r.part(f, part, false)
	}
	var all []string
	for _, text := range f.done() {
		if f.plain {
			all = append(all, braceList(text)...)
		} else {
			all = append(all, text)
		}
	}
	return all
}

// joined expands a word as one text.
func (r *shellReader) joined(w *syntax.Word) string { return strings.Join(r.word(w), " ") }

func (r *shellReader) part(f *fields, part syntax.WordPart, quoted bool) {
	switch p := part.(type) {
	case *syntax.Lit:
		f.plain = f.plain || strings.Contains(p.Value, "{")
		f.add(unescape(p.Value, quoted))
	case *syntax.SglQuoted:
		f.plain = false
		if p.Dollar {
			f.quote(numberedText(p.Value))
			return
		}
		f.quote(p.Value)
	case *syntax.DblQuoted:
		f.quote("")
		for _, inner := range p.Parts {
			r.part(f, inner, true)
		}
	case *syntax.ParamExp:
		r.expand(f, p, quoted)
	case *syntax.CmdSubst:
		text := r.substitute(p)
		if quoted {
			f.add(text)
			return
		}
		f.split(text)
	case *syntax.ProcSubst:
		r.child().statements(p.Stmts)
		f.add(unknown)
	case *syntax.ArithmExp:
		f.add("0")
	case *syntax.ExtGlob:
		f.add("*")
	}
}

// unescape takes backslashes off as a shell does; inside double quotes only those
// before a character that is special there.
func unescape(s string, quoted bool) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) || (quoted && !strings.ContainsRune("$`\"\\\n", rune(s[i+1]))) {
			out.WriteByte(s[i])
			continue
		}
		i++
		if s[i] != '\n' {
			out.WriteByte(s[i])
		}
	}
	return out.String()
}

// numberedText spells out characters that are given as numbers.
func numberedText(s string) string {
	return strings.Trim(spellOut("$'"+s+"'", cStyle), "'")
}

// expand fills in a variable. One that the script never sets is empty, as long as
// it takes none from elsewhere.
func (r *shellReader) expand(f *fields, p *syntax.ParamExp, quoted bool) {
	text := r.value(p)
	if list := p.Index != nil || p.Param != nil && p.Param.Value == "@"; quoted && !list {
		f.add(text)
		return
	}
	f.split(text)
}

func (r *shellReader) value(p *syntax.ParamExp) string {
	if p.Param == nil {
		return unknown
	}
	name := p.Param.Value
	value, known := r.vars[name]
	switch {
	case known && value != "":
		return value
	case p.Exp != nil && p.Exp.Word != nil && isDefault(p.Exp.Op):
		value = r.joined(p.Exp.Word)
		if p.Exp.Op == syntax.AssignUnset || p.Exp.Op == syntax.AssignUnsetOrNull {
			r.vars[name] = value
		}
		return value
	case name == "IFS":
		return " "
	case name == "HOME":
		return "$HOME"
	case name == "PWD" && r.dir != "":
		return r.dir
	case name == "@" || name == "*":
		return r.vars["1"]
	case known || r.sources || p.Exp != nil || surroundings[name] || !isName(name):
		return unknown
	}
	return ""
}

func isDefault(op syntax.ParExpOperator) bool {
	return op == syntax.DefaultUnset || op == syntax.DefaultUnsetOrNull || op == syntax.AssignUnset || op == syntax.AssignUnsetOrNull
}

func isName(s string) bool {
	return s != "" && (s[0] == '_' || s[0] >= 'A' && s[0] <= 'Z' || s[0] >= 'a' && s[0] <= 'z')
}

// substitute is what a command substitution gives, where it can be told.
func (r *shellReader) substitute(p *syntax.CmdSubst) string {
	inner := r.child()
	inner.statements(p.Stmts)
	if len(p.Stmts) != 1 {
		return unknown
	}
	if text := inner.prints(p.Stmts[0]); text != "" {
		return strings.TrimRight(text, "\n")
	}
	return unknown
}

// assign sets variables.
func (r *shellReader) assign(list []*syntax.Assign) {
	for _, a := range list {
		if a.Name == nil || a.Value == nil && a.Array == nil {
			continue
		}
		value := r.joined(a.Value)
		if a.Array != nil {
			var all []string
			for _, element := range a.Array.Elems {
				all = append(all, r.word(element.Value)...)
			}
			value = strings.Join(all, " ")
		}
		if a.Append {
			value = r.vars[a.Name.Value] + value
		}
		if len(value) <= maxValue {
			r.vars[a.Name.Value] = value
		}
	}
}

// fields are the words one word splits into.
type fields struct {
	ended []string
	open  strings.Builder
	begun bool
	plain bool // a brace list may be in it
}

func (f *fields) add(text string) {
	f.open.WriteString(text)
	f.begun = f.begun || text != ""
}

// quote adds a text that makes a word even if it is empty.
func (f *fields) quote(text string) {
	f.open.WriteString(text)
	f.begun = true
}

// split adds a text that is split at its blanks.
func (f *fields) split(text string) {
	words := strings.Fields(text)
	if len(words) == 0 {
		if text != "" {
			f.end()
		}
		return
	}
	if strings.TrimLeft(text, " \t\n") != text {
		f.end()
	}
	for i, w := range words {
		if i > 0 {
			f.end()
		}
		f.add(w)
	}
	if strings.TrimRight(text, " \t\n") != text {
		f.end()
	}
}

func (f *fields) end() {
	if f.begun {
		f.ended = append(f.ended, f.open.String())
	}
	f.open.Reset()
	f.begun = false
}

func (f *fields) done() []string {
	f.end()
	return f.ended
}

// braceList spells out the first brace list of a word: /{usr,etc}.
func braceList(word string) []string {
	at := braces.FindStringSubmatchIndex(word)
	if at == nil {
		return []string{word}
	}
	var all []string
	for choice := range strings.SplitSeq(word[at[2]:at[3]], ",") {
		all = append(all, word[:at[0]]+choice+word[at[1]:])
	}
	return all
}

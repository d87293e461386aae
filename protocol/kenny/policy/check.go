package policy

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/protocol/kenny"
)

// CheckCall judges a call by its text alone: which rule, if any, refuses it.
// It is all a hub can do; on the machine the true path of a file is judged
// too, with [Set.CheckPath], and an update's address with [CheckUpdateURL].
func (s *Set) CheckCall(os kenny.OS, tool string, args jsontext.Value) (Rule, bool) {
	if tool == "agent_update" {
		return Rule{}, false
	}
	key, isPath := pathKey(tool)
	if kenny.ClassOf(tool) != kenny.Mutating && !isPath {
		return Rule{}, false
	}
	texts, err := collectTexts(args)
	if err != nil {
		return unreadable(), true
	}
	switch {
	case isPath:
		return s.CheckPath(os, texts.member(key))
	case tool == "powershell_exec" && kenny.ForShell(os, texts.member("script")):
		return s.checkScript(shellText, texts.member("script"))
	case tool == "powershell_exec":
		return s.checkScript(powershellText(os), texts.member("script"))
	case tool == "shell_exec":
		return s.checkScript(shellText, texts.member("script"))
	}
	for _, t := range texts {
		if r, hit := s.checkScript(anyText, t.text); hit {
			return r, true
		}
	}
	return Rule{}, false
}

// pathKey names the argument of the file tools that is a path.
func pathKey(tool string) (string, bool) {
	switch tool {
	case "fs_read", "fs_list":
		return "path", true
	case "fs_search":
		return "root", true
	}
	return "", false
}

// reading says as what a text is judged.
type reading struct {
	dialects []Dialect
	kinds    []kenny.AppliesTo
	// paths: mentions of credential stores count as well.
	paths bool
	// operator: the operator's powershell rules count.
	operator bool
	// spare takes out what the script only prints; nil where nobody knows for
	// sure which shell reads it.
	spare func(string) string
}

var (
	shellText = reading{
		dialects: []Dialect{POSIXShell}, kinds: []kenny.AppliesTo{AppliesShell, kenny.AppliesSelfProtection},
		paths: true, operator: true, spare: withoutPrinted,
	}
	// anyText is an argument of a tool that runs something: nobody knows
	// which shell it might end up in.
	anyText = reading{
		dialects: []Dialect{PowerShell, POSIXShell},
		kinds:    []kenny.AppliesTo{kenny.AppliesPowerShell, AppliesShell, kenny.AppliesSelfProtection},
		operator: true,
	}
)

// powershellText: away from Windows a PowerShell script runs the same programs
// a shell script does, so the shell's rules hold for it too.
func powershellText(os kenny.OS) reading {
	r := reading{
		dialects: []Dialect{PowerShell}, kinds: []kenny.AppliesTo{kenny.AppliesPowerShell, kenny.AppliesSelfProtection},
		paths: true, operator: true,
	}
	if os == kenny.Windows {
		r.spare = withoutWritten
	} else {
		r.dialects = append(r.dialects, POSIXShell)
		r.kinds = append(r.kinds, AppliesShell)
	}
	return r
}

// covers reports whether a rule is for this text.
func (r reading) covers(c compiled) bool {
	if c.Builtin && c.AppliesTo == kenny.AppliesPath {
		return r.paths
	}
	if !c.Builtin && c.AppliesTo == kenny.AppliesPowerShell {
		return r.operator
	}
	return slices.Contains(r.kinds, c.AppliesTo)
}

func (s *Set) checkScript(as reading, text string) (Rule, bool) {
	if len(text) > kenny.MaxScript {
		return tooLong(), true
	}
	if as.spare != nil {
		text = as.spare(text)
	}
	var forms []Form
	for _, d := range as.dialects {
		forms = append(forms, ScriptForms(d, text)...)
	}
	forms = dedupe(forms)
	return s.first(func(c compiled) bool { return as.covers(c) && c.matchScript(forms) })
}

func (c compiled) matchScript(forms []Form) bool {
	return slices.ContainsFunc(forms, func(f Form) bool {
		return !(f.Unquoted && c.keepQuotes) && mentions(f.lower, c.script.needles) && c.script.re.MatchString(f.Text)
	})
}

// dedupe drops forms that add nothing; most scripts are their own normal form.
func dedupe(forms []Form) []Form {
	var out []Form
	for _, f := range forms {
		if !slices.ContainsFunc(out, func(o Form) bool { return o.Text == f.Text }) {
			out = append(out, f)
		}
	}
	return out
}

// CheckPath judges a file path: as given, cleaned, and as the true paths the
// operating system resolved it to, where the caller knows them. A '..' in what
// was given is refused: it only serves to confuse.
func (s *Set) CheckPath(os kenny.OS, given string, final ...string) (Rule, bool) {
	if hasParent(os, given) {
		return parentComponent(), true
	}
	forms := PathForms(os, given)
	for _, f := range final {
		forms = append(forms, PathForms(os, f)...)
	}
	slices.Sort(forms)
	forms = slices.Compact(forms)
	lower := strings.ToLower(strings.Join(forms, "\n"))
	return s.first(func(c compiled) bool {
		return (c.AppliesTo == kenny.AppliesPath || c.AppliesTo == kenny.AppliesSelfProtection) &&
			mentions(lower, c.path.needles) && slices.ContainsFunc(forms, c.path.re.MatchString)
	})
}

// The rules that are no patterns.

func tooLong() Rule {
	return Rule{ID: "guard.too_long", Class: "guard", Builtin: true, Reason: "text too long to be judged"}
}

func unreadable() Rule {
	return Rule{ID: "guard.unreadable", Class: "guard", Builtin: true, Reason: "arguments that cannot be read cannot be judged"}
}

func parentComponent() Rule {
	return Rule{ID: "guard.parent_path", Class: "guard", Builtin: true, AppliesTo: kenny.AppliesPath, Reason: "paths must not contain '..'"}
}

// argText is one string somewhere in the arguments.
type argText struct {
	key  string // of a top-level member, else ""
	text string
}

type argTexts []argText

// member is the string of a top-level key; "" if there is none.
func (a argTexts) member(key string) string {
	for _, t := range a {
		if t.key == key {
			return t.text
		}
	}
	return ""
}

// collectTexts finds every string in the arguments, keys included.
func collectTexts(args jsontext.Value) (argTexts, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(args))
	var out argTexts
	key := ""
	for {
		tok, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		if tok.Kind() == '"' {
			s := tok.String()
			_, n := dec.StackIndex(dec.StackDepth())
			isKey := n%2 == 1 && inObject(dec)
			t := argText{text: s}
			if dec.StackDepth() == 1 && inObject(dec) {
				if isKey {
					key = s
				} else {
					t.key = key
				}
			}
			out = append(out, t)
		}
		if dec.StackDepth() == 0 {
			return out, nil
		}
	}
}

// inObject reports whether the decoder stands directly inside an object.
func inObject(dec *jsontext.Decoder) bool {
	kind, _ := dec.StackIndex(dec.StackDepth())
	return kind == '{'
}

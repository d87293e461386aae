package policy

import (
	"strings"
	"testing"

	"parley.internal/protocol/kenny"
)

func TestNormalFormsUndoDisguise(t *testing.T) {
	for _, c := range []struct {
		dialect  Dialect
		in, want string
	}{
		{PowerShell, "Get-Date", "Get-Date"},
		{PowerShell, "v`ss`admin  delete\tshadows", "vssadmin delete shadows"},
		{PowerShell, "v^s^s^admin", "vssadmin"},
		{PowerShell, "vssadmin `\n  delete", "vssadmin delete"},
		{PowerShell, "vss^\r\nadmin", "vssadmin"},
		{PowerShell, `& ('vss' + "adm" + 'in') x`, "& vssadmin x"},
		{PowerShell, `"a"+"b"+"c"`, "abc"},
		{PowerShell, `v"ss"ad''min`, "vssadmin"},
		{PowerShell, "“vssadmin” –x ‘y’", "vssadmin -x y"},
		{PowerShell, "ｖｓｓａｄｍｉｎ", "vssadmin"},
		{PowerShell, "vss\u200badmin\u00ad\x07", "vssadmin"},
		{PowerShell, `net user "Ann Lee"`, `net user "Ann Lee"`},
		{PowerShell, "a \n\n \n b", "a\nb"},
		{POSIXShell, "r''m -rf /", "rm -rf /"},
		{POSIXShell, `r"m" '-rf' "/"`, "rm -rf /"},
		{POSIXShell, `r\m -rf \/`, "rm -rf /"},
		{POSIXShell, "rm${IFS}-rf$IFS/", "rm -rf /"},
		{POSIXShell, "rm$IFS$9-rf ${IFS%?}/", "rm -rf /"},
		{POSIXShell, "r\\\nm -rf /", "rm -rf /"},
		{POSIXShell, "r$@m -rf /", "rm -rf /"},
		{POSIXShell, "$'rm' -rf /", "rm -rf /"},
		{POSIXShell, "{rm,-rf,/}", "rm -rf /"},
		{POSIXShell, "awk '{print $1, $2}'", "awk '{print $1, $2}'"},
		{POSIXShell, "a\u2028b", "a\nb"},
	} {
		if got := ScriptForms(c.dialect, c.in)[1].Text; got != c.want {
			t.Errorf("%q: %q, want %q", c.in, got, c.want)
		}
	}
}

func TestFormsBeginWithTheScriptAsItCame(t *testing.T) {
	forms := ScriptForms(POSIXShell, `a  "b c"`)
	if forms[0].Text != `a  "b c"` || !forms[2].Unquoted || forms[2].Text != "a b c" {
		t.Errorf("%+v; want forms[0].Text to be \"a  \"b c\"\", forms[2].Unquoted, forms[2].Text to be \"a b c\"", forms)
	}
}

// hostile texts once made a matcher slow elsewhere; here they must be quick
// because every pattern is linear.
func TestHostileTextsAreJudged(t *testing.T) {
	s := Builtin()
	for name, unit := range map[string]string{
		"blanks": " ", "quotes": `"`, "single quotes": "'", "joins": `'a'+`, "braces": "{a,", "ticks": "`", "slashes": "/",
		"rm": "rm -r ", "pipes": "curl x|", "marks": "\u0301", "wide": "\ufdfa", "newlines": "\n", "needle": "vssadmin ",
	} {
		text := strings.Repeat(unit, kenny.MaxScript/4/len(unit))
		for _, c := range []call{script(kenny.Windows, text), script(kenny.Linux, text)} {
			c.check(t, s)
		}
		s.CheckPath(kenny.Windows, text[:min(len(text), kenny.MaxText)])
		t.Log(name)
	}
}

func FuzzScripts(f *testing.F) {
	for _, e := range entries(f) {
		f.Add(e.Blocks[0])
		f.Add(e.Passes[0])
	}
	for _, cases := range bypasses {
		for _, text := range cases.blocks {
			f.Add(text)
		}
	}
	s := Builtin()
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 8<<10 {
			return
		}
		args := object(t, map[string]any{"script": strings.ToValidUTF8(text, "?")})
		_, hit := s.CheckCall(kenny.Linux, "shell_exec", args)
		if _, again := s.CheckCall(kenny.Linux, "shell_exec", args); again != hit {
			t.Fatal("two judgements of one call differ")
		}
		if _, upper := s.CheckCall(kenny.Windows, "powershell_exec", args); upper {
			return
		}
		for _, d := range []Dialect{PowerShell, POSIXShell} {
			ScriptForms(d, text)
		}
	})
}

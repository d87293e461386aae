package policy

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/protocol/kenny"
)

func TestAShellScriptInPowershellExecIsJudgedAsOne(t *testing.T) {
	for text, want := range map[string]bool{
		"#!/bin/sh\ncd /usr; rm -rf bin":  true,
		"#!/bin/sh\nd=/tmp/x; rm -r $d/*": false,
		"#!/bin/sh\nrm -r $unset/*":       true,
		"#!/bin/sh\necho hello":           false,
	} {
		c := call{kenny.Linux, "powershell_exec", map[string]any{"script": text}}
		if r, hit := c.check(t, Builtin()); hit != want {
			t.Errorf("%q: refused %v by %q, not %v", text, hit, r.ID, want)
		}
	}
	windows := call{kenny.Windows, "powershell_exec", map[string]any{"script": "#!/bin/sh\nvssadmin delete shadows /all"}}
	if _, hit := windows.check(t, Builtin()); !hit {
		t.Error("a first line makes the guard forget that Windows runs PowerShell")
	}
}

func TestEachToolIsJudgedByItsOwnText(t *testing.T) {
	s, skipped := Builtin().WithOperator([]kenny.Rule{
		{ID: "no-choco", AppliesTo: kenny.AppliesPowerShell, Pattern: `(?i)\bchoco\b`, Reason: "no chocolatey"},
		{ID: "payroll", AppliesTo: kenny.AppliesPath, Pattern: `(?i)\\payroll\\`, Reason: "private"},
		{ID: "tray", AppliesTo: kenny.AppliesSelfProtection, Pattern: `(?i)\btrayhelper\b`, Reason: "ours"},
	})
	if len(skipped) != 0 {
		t.Fatalf("skipped is %v; want len(skipped) to be 0", skipped)
	}
	m := func(kv ...string) map[string]any {
		out := map[string]any{}
		for i := 0; i < len(kv); i += 2 {
			out[kv[i]] = kv[i+1]
		}
		return out
	}
	for _, c := range []struct {
		name string
		call call
		want string
	}{
		{"operator powershell rule covers powershell", call{kenny.Windows, "powershell_exec", m("script", "choco install x")}, "no-choco"},
		{"and the shell", call{kenny.Linux, "shell_exec", m("script", "ch''oco install x")}, "no-choco"},
		{"and other mutating tools", call{kenny.Windows, "winget_install", m("id", "choco")}, "no-choco"},
		{"not file tools", call{kenny.Windows, "fs_read", m("path", `C:\choco`)}, ""},
		{"operator path rule covers file tools", call{kenny.Windows, "fs_list", m("path", `C:\Payroll\2026`)}, "payroll"},
		{"with slashes too", call{kenny.Linux, "fs_read", m("path", "/srv/payroll/x")}, "payroll"},
		{"and the root of a search", call{kenny.Linux, "fs_search", m("root", "/srv/payroll/", "pattern", "x")}, "payroll"},
		{"not a script", call{kenny.Windows, "powershell_exec", m("script", `dir C:\payroll\x`)}, ""},
		{"operator self rule covers everything judged", call{kenny.Windows, "fs_read", m("path", `C:\trayhelper`)}, "tray"},
		{"scripts as well", call{kenny.Linux, "shell_exec", m("script", "echo trayhelper")}, "tray"},
		{"every string of another mutating tool", call{kenny.Windows, "net_adapter_reset", m("name", "x; vssadmin delete shadows")}, "backup.shadow_tool"},
		{"in any shell", call{kenny.Windows, "net_adapter_reset", m("name", "$(rm -rf /)")}, "delete.root"},
		{"of tools nobody knows", call{kenny.Linux, "future_tool", map[string]any{"a": []any{map[string]any{"b": "mkfs.ext4 /dev/sda"}}}}, "disk.mkfs"},
		{"keys too", call{kenny.Linux, "future_tool", m("rm -rf /", "x")}, "delete.root"},
		{"but not credential paths there", call{kenny.Windows, "winget_install", m("id", "id_rsa")}, ""},
		{"read-only tools are not judged", call{kenny.Linux, "diag_services", m("filter", "rm -rf /")}, ""},
		{"nor an update", call{kenny.Linux, "agent_update", m("version", "2", "url", "https://h/parley-endpoint", "sha256", "rm -rf /")}, ""},
		{"shell rules hold for PowerShell away from Windows", call{kenny.Linux, "powershell_exec", m("script", "mkfs.ext4 /dev/sda")}, "disk.mkfs"},
		{"search text is no path", call{kenny.Linux, "fs_search", m("root", "/home/ann", "pattern", "id_rsa")}, ""},
		{"built-in rules come first", call{kenny.Windows, "powershell_exec", m("script", "choco x; vssadmin delete shadows")}, "backup.shadow_tool"},
		{"only the script of a script tool", call{kenny.Linux, "shell_exec", m("note", "rm -rf /", "script", "id")}, ""},
		{"a nested script is not the script", call{kenny.Linux, "shell_exec", map[string]any{"x": map[string]any{"script": "rm -rf /"}, "script": "id"}}, ""},
	} {
		if r, hit := c.call.check(t, s); r.ID != c.want || hit != (c.want != "") {
			t.Errorf("%s: %q %v, want %q", c.name, r.ID, hit, c.want)
		}
	}
}

func TestWhatCannotBeJudgedIsRefused(t *testing.T) {
	s := Builtin()
	for _, args := range []string{``, `{`, `{"script":1,"script":2}`, "{\"script\":\"\xff\"}"} {
		if r, hit := s.CheckCall(kenny.Linux, "shell_exec", jsontext.Value(args)); !hit || r.ID != "guard.unreadable" {
			t.Errorf("%q: %s; want hit, r.ID to be \"guard.unreadable\"", args, r.ID)
		}
	}
	long := object(t, map[string]any{"script": strings.Repeat("x", kenny.MaxScript+1)})
	if r, hit := s.CheckCall(kenny.Linux, "shell_exec", long); !hit || r.ID != "guard.too_long" {
		t.Errorf("r.ID is %v; want hit, r.ID to be \"guard.too_long\"", r.ID)
	}
	longest := object(t, map[string]any{"script": strings.Repeat("x", kenny.MaxScript)})
	if r, hit := s.CheckCall(kenny.Linux, "shell_exec", longest); hit {
		t.Errorf("r.ID is %v; want not hit", r.ID)
	}
}

func TestRefusalNamesTheRuleAndNotTheCall(t *testing.T) {
	r, hit := script(kenny.Windows, "vssadmin delete shadows # secret").check(t, Builtin())
	if want := "refused by the safety guard: deletes or shrinks shadow copies [backup.shadow_tool]"; !hit || r.Refusal() != want {
		t.Errorf("r.Refusal() is %v; want hit, r.Refusal() to be %v", r.Refusal(), want)
	}
}

func TestOperatorsOnlyAdd(t *testing.T) {
	base := Builtin()
	s, skipped := base.WithOperator([]kenny.Rule{
		{ID: "bad", AppliesTo: kenny.AppliesPath, Pattern: "(", Reason: "x"},
		{ID: "delete.root", AppliesTo: kenny.AppliesPowerShell, Pattern: "^never$", Reason: "weaker"},
		{ID: "good", AppliesTo: kenny.AppliesPowerShell, Pattern: "steam", Reason: "x"},
	})
	if len(skipped) != 1 || skipped[0].Rule.ID != "bad" || skipped[0].Err == nil {
		t.Errorf("skipped %v", skipped)
	}
	if _, hit := script(kenny.Linux, "steam").check(t, s); !hit {
		t.Error("the neighbour of a bad rule does not hold")
	}
	if r, hit := script(kenny.Linux, "rm -rf /").check(t, s); !hit || !r.Builtin {
		t.Error("an operator weakened a built-in rule")
	}
	cleared, _ := s.WithOperator(nil)
	if _, hit := script(kenny.Linux, "steam").check(t, cleared); hit {
		t.Error("an empty list does not clear the operator's rules")
	}
	if len(cleared.Rules()) != len(base.Rules()) || len(s.Rules()) != len(base.Rules())+2 {
		t.Error("rules got lost")
	}
}

func TestOperatorRulesAreValidated(t *testing.T) {
	s := Builtin()
	good := kenny.Rule{ID: "a", AppliesTo: kenny.AppliesPath, Pattern: "x", Reason: "r"}
	if err := s.Validate(good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*kenny.Rule){
		"no id":           func(r *kenny.Rule) { r.ID = "" },
		"capital id":      func(r *kenny.Rule) { r.ID = "A" },
		"long id":         func(r *kenny.Rule) { r.ID = strings.Repeat("a", 65) },
		"built-in id":     func(r *kenny.Rule) { r.ID = "delete.root" },
		"shell":           func(r *kenny.Rule) { r.AppliesTo = AppliesShell },
		"no pattern":      func(r *kenny.Rule) { r.Pattern = "" },
		"long pattern":    func(r *kenny.Rule) { r.Pattern = strings.Repeat("x", 1025) },
		"lookahead":       func(r *kenny.Rule) { r.Pattern = "(?=x)" },
		"broken pattern":  func(r *kenny.Rule) { r.Pattern = "[" },
		"no reason":       func(r *kenny.Rule) { r.Reason = "" },
		"lengthy reason":  func(r *kenny.Rule) { r.Reason = strings.Repeat("x", 201) },
		"enormous repeat": func(r *kenny.Rule) { r.Pattern = "(?:(?:a{900}){900}){900}" },
	} {
		r := good
		change(&r)
		if err := s.Validate(r); !errors.Is(err, ErrBadRule) {
			t.Errorf("%s: %v; want ErrBadRule", name, err)
		}
	}
}

func TestUpdatesComeFromNamedHostsOnly(t *testing.T) {
	allowed := []string{"hub.example.com", "mirror.example.com:8443"}
	for address, ok := range map[string]bool{
		"https://hub.example.com/d/endpoint/x":     true,
		"https://HUB.example.com:443/x":            true,
		"https://hub.example.com./x":               true,
		"https://mirror.example.com:8443/x":        true,
		"https://mirror.example.com/x":             false,
		"https://hub.example.com:8443/x":           false,
		"http://hub.example.com/x":                 false,
		"https://hub.example.com.evil.example/x":   false,
		"https://evil.example/hub.example.com":     false,
		"https://hub.example.com@evil.example/x":   false,
		"https://user:pw@hub.example.com/x":        false,
		"https://evil.example\\@hub.example.com/x": false,
		"https:///x":                        false,
		"file:///etc/passwd":                false,
		"//hub.example.com/x":               false,
		"":                                  false,
		"https://hub.example.com/\nHost: x": false,
	} {
		if r, hit := CheckUpdateURL(address, allowed); hit == ok || hit && r.ID != "update.host" {
			t.Errorf("%s: refused %v", address, hit)
		}
	}
	if _, hit := CheckUpdateURL("https://hub.example.com/x", nil); !hit {
		t.Error("no host was named, yet one is allowed")
	}
}

// A whole list, as an operator keeps it in a file, is taken rule for rule, travels
// to a machine and comes out as it went in.
func TestAnOperatorsListIsTakenWholeAndTravels(t *testing.T) {
	data, err := os.ReadFile("testdata/operator.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []ruleFile
	if err := json.Unmarshal(data, &list); err != nil || len(list) == 0 {
		t.Fatal(len(list), err)
	}
	rules := make([]kenny.Rule, 0, len(list))
	for _, r := range list {
		rules = append(rules, kenny.Rule{ID: r.ID, AppliesTo: r.AppliesTo, Pattern: r.Pattern, Reason: r.Reason})
	}
	for _, r := range rules {
		if err := Builtin().Validate(r); err != nil {
			t.Error(r.ID, err)
		}
	}
	frame, err := kenny.Encode(&kenny.Policy{Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	arrived, err := kenny.DecodeFromHub(frame)
	if err != nil {
		t.Fatal(err)
	}
	s, skipped := Builtin().WithOperator(arrived.(*kenny.Policy).Rules)
	if len(skipped) > 0 {
		t.Errorf("skipped is %v; want len(skipped) to be at most 0", skipped)
	}
	if got := len(s.Rules()) - len(Builtin().Rules()); got != len(rules) {
		t.Errorf("%d of %d rules are in force", got, len(rules))
	}
	if r, hit := script(kenny.Windows, `reg import C:\Temp\x.reg`).check(t, s); !hit || r.ID != "no-registry-import" {
		t.Error(r.ID, hit)
	}
}

type ruleFile struct {
	ID        string          `json:"id"`
	AppliesTo kenny.AppliesTo `json:"applies_to"`
	Pattern   string          `json:"pattern"`
	Reason    string          `json:"reason"`
}

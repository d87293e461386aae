package policy

import (
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/protocol/kenny"
)

func entries(t testing.TB) []entry {
	t.Helper()
	all, err := readCatalogue(catalogueFiles)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func object(t testing.TB, members map[string]any) jsontext.Value {
	t.Helper()
	raw, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// call is a tool call made of an example.
type call struct {
	os   kenny.OS
	tool string
	args map[string]any
}

func (c call) check(t testing.TB, s *Set) (Rule, bool) {
	t.Helper()
	return s.CheckCall(c.os, c.tool, object(t, c.args))
}

func script(os kenny.OS, text string) call {
	tool := "shell_exec"
	if os == kenny.Windows {
		tool = "powershell_exec"
	}
	return call{os, tool, map[string]any{"script": text}}
}

// calls turns an example of a rule into the calls it stands for.
func (e entry) calls(example string) []call {
	unix := strings.HasPrefix(example, "/")
	switch e.For {
	case "powershell":
		return []call{script(kenny.Windows, example)}
	case "shell":
		return []call{script(kenny.Linux, example), script(kenny.MacOS, example), {kenny.Linux, "powershell_exec", map[string]any{"script": example}}}
	case "self_protection":
		if strings.Contains(example, `\`) {
			return []call{script(kenny.Windows, example)}
		}
		return []call{script(kenny.Windows, example), script(kenny.Linux, example)}
	}
	if !unix {
		return []call{
			{kenny.Windows, "fs_read", map[string]any{"path": example}},
			{kenny.Windows, "fs_search", map[string]any{"root": example, "pattern": "x"}},
			script(kenny.Windows, `Get-Content "`+example+`"`),
		}
	}
	return []call{
		{kenny.Linux, "fs_read", map[string]any{"path": example}},
		{kenny.MacOS, "fs_list", map[string]any{"path": example}},
		script(kenny.Linux, `cat "`+example+`"`),
	}
}

func TestCatalogueIsComplete(t *testing.T) {
	id := regexp.MustCompile(`^[a-z]+\.[a-z0-9_]+$`)
	seen := map[string]bool{}
	classes := map[string]map[string]int{}
	for _, e := range entries(t) {
		if !id.MatchString(e.ID) || seen[e.ID] {
			t.Errorf("id %q is odd or used twice", e.ID)
		}
		seen[e.ID] = true
		if e.Reason == "" || len(e.Blocks) < 2 || len(e.Passes) < 2 {
			t.Errorf("%s needs a reason, two examples it blocks and two it passes", e.ID)
		}
		if strings.ContainsAny(e.Pattern, "\n") || regexp.MustCompile(`<[a-z]+>`).MatchString(expand(e.Pattern, scriptWords)) {
			t.Errorf("%s has a word nobody knows", e.ID)
		}
		if classes[e.class] == nil {
			classes[e.class] = map[string]int{}
		}
		classes[e.class][e.For]++
	}
	for _, class := range []string{
		"disk_destruction", "mass_deletion", "backup_destruction", "anti_forensics", "boot", "secure_wiping", "hidden_payload",
		"download_and_run", "protection_off", "accounts", "credentials", "denial",
	} {
		if classes[class]["powershell"] == 0 || classes[class]["shell"] == 0 {
			t.Errorf("class %s lacks rules for Windows or POSIX", class)
		}
	}
	if classes["self_protection"]["self_protection"] == 0 || classes["credential_paths"]["path"] == 0 {
		t.Error("no self protection or no credential paths")
	}
}

func TestEveryRuleHoldsItsExamples(t *testing.T) {
	s := Builtin()
	for _, e := range entries(t) {
		t.Run(e.ID, func(t *testing.T) {
			own := &Set{builtin: []compiled{e.compile()}}
			for _, example := range e.Blocks {
				for _, c := range e.calls(example) {
					if _, hit := c.check(t, own); !hit {
						t.Errorf("not blocked by its own rule: %s on %s: %s", c.tool, c.os, example)
					}
					if _, hit := c.check(t, s); !hit {
						t.Errorf("not blocked: %s on %s: %s", c.tool, c.os, example)
					}
				}
			}
			for _, example := range e.Passes {
				for _, c := range e.calls(example) {
					if r, hit := c.check(t, s); hit {
						t.Errorf("%s blocks %s on %s: %s", r.ID, c.tool, c.os, example)
					}
				}
			}
		})
	}
}

func TestRulesSeeThroughDisguise(t *testing.T) {
	s := Builtin()
	for _, e := range entries(t) {
		t.Run(e.ID, func(t *testing.T) {
			for _, example := range e.Blocks {
				for name, text := range e.disguises(example) {
					for _, c := range e.calls(text) {
						if _, hit := c.check(t, s); !hit {
							t.Errorf("%s: not blocked: %s on %s: %s", name, c.tool, c.os, text)
						}
					}
				}
			}
		})
	}
}

// disguises spells an example in ways its shell or file system understands, or
// that a careless matcher would overlook.
func (e entry) disguises(s string) map[string]string {
	all := map[string]string{"upper case": strings.ToUpper(s)}
	switch e.For {
	case "powershell":
		all["full width"] = wide(s)
		all["zero width"] = spread(s, "\u200b")
		all["no-break blanks"] = strings.ReplaceAll(s, " ", "\u00a0 ")
		all["typographic dashes"] = strings.ReplaceAll(s, " -", " \u2013")
		all["backticks"] = spread(s, "`")
		all["carets"] = spread(s, "^")
		all["quotes inside words"] = inWord(s, `""`)
		all["concatenation"] = joined(s)
		all["continued"] = strings.ReplaceAll(s, " ", " `\n  ")
	case "shell":
		delete(all, "upper case") // another program there, and flags change meaning
		all["full width"] = wide(s)
		all["soft hyphens"] = spread(s, "\u00ad")
		all["quotes inside words"] = inWord(s, "''")
		all["double quotes inside words"] = inWord(s, `""`)
		all["escapes"] = inWord(s, `\`)
		all["blanks as variable"] = strings.ReplaceAll(s, " ", "${IFS}")
		all["continued"] = spread(s, "\\\n")
	case "self_protection":
		all["zero width"] = spread(s, "\u200d")
	case "path":
		delete(all, "upper case")
		if strings.HasPrefix(s, "/") {
			all["empty components"] = strings.ReplaceAll(s, "/", "//")
			all["dot components"] = strings.ReplaceAll(s, "/", "/./")
			break
		}
		all["upper case"] = strings.ToUpper(s)
		all["slashes"] = strings.ReplaceAll(s, `\`, "/")
		all["doubled"] = strings.ReplaceAll(s, `\`, `\\`)
	}
	return all
}

// firstWord finds the first run of three or more letters.
var firstWord = regexp.MustCompile(`[A-Za-z]{3,}`)

// inWord puts a mark into the first word.
func inWord(s, mark string) string {
	at := firstWord.FindStringIndex(s)
	if at == nil || strings.ContainsAny(s, "\n") || inQuotes(s, at[0]) {
		return s
	}
	return s[:at[0]+1] + mark + s[at[0]+1:]
}

// spread puts a mark into every plain word of the first command.
func spread(s, mark string) string {
	at := firstWord.FindStringIndex(s)
	if at == nil || inQuotes(s, at[0]) {
		return s
	}
	mid := (at[0] + at[1]) / 2
	return s[:mid] + mark + s[mid:]
}

func wide(s string) string {
	at := firstWord.FindStringIndex(s)
	if at == nil {
		return s
	}
	word := strings.Map(func(r rune) rune { return r - 'a' + 'ａ' }, strings.ToLower(s[at[0]:at[1]]))
	return s[:at[0]] + word + s[at[1]:]
}

// joined spells the first word as literals put together, where it is a
// command of its own.
func joined(s string) string {
	at := firstWord.FindStringIndex(s)
	if at == nil || at[0] != 0 || !strings.HasPrefix(s[at[1]:], " ") {
		return s
	}
	return "& ('" + s[:2] + "' + '" + s[2:at[1]] + "')" + s[at[1]:]
}

func inQuotes(s string, at int) bool {
	return strings.Count(s[:at], `"`)%2 == 1 || strings.Count(s[:at], `'`)%2 == 1
}

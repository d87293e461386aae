package scan

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// written turns \u and \U into the characters they stand for: in the corpus they are
// written out, so that whoever reads it sees them.
var written = regexp.MustCompile(`\\u[0-9a-f]{4}|\\U[0-9a-f]{8}`)

func corpus(t *testing.T, file string) []txtar.File {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	all := txtar.Parse(raw).Files
	if len(all) != 200 {
		t.Fatalf("%s has %d skills, not 200", file, len(all))
	}
	for i := range all {
		all[i].Data = written.ReplaceAllFunc(all[i].Data, func(m []byte) []byte {
			n, _ := strconv.ParseInt(string(m[2:]), 16, 32)
			return []byte(string(rune(n)))
		})
	}
	return all
}

// alarms are findings that a person is stopped by; notes are not.
func alarms(s *Scanner, text []byte) []Finding {
	return slices.DeleteFunc(s.Scan(string(text)), func(f Finding) bool { return f.Severity == Note })
}

// share counts the skills of the corpus for which ok holds, and tells of the others by
// name. Of those that were kept aside while the rules were made, only the count is told.
func share(t *testing.T, files []txtar.File, ok func(txtar.File) bool) {
	t.Helper()
	for _, kind := range []string{"tuned", "held"} {
		var all, failed int
		for _, f := range files {
			if !strings.Contains(f.Name, kind) {
				continue
			}
			if all++; !ok(f) {
				failed++
				if kind == "tuned" {
					t.Logf("%s\n%s", f.Name, f.Data)
				}
			}
		}
		t.Logf("%s: %d of %d are not as they should be", kind, failed, all)
	}
}

// Of two hundred skills that try something, nineteen in twenty are found, on the line
// where they do.
func TestHostileSkillsAreFoundWhereTheyAreHostile(t *testing.T) {
	s, found := newScanner(t), 0
	files := corpus(t, "hostile.txtar")
	share(t, files, func(f txtar.File) bool {
		var line int
		if _, err := fmt.Sscanf(f.Name[strings.Index(f.Name, "line"):], "line %d", &line); err != nil {
			t.Fatalf("%s does not name its line: %v", f.Name, err)
		}
		if !slices.ContainsFunc(alarms(s, f.Data), func(a Finding) bool { return a.Line == line }) {
			return false
		}
		found++
		return true
	})
	if found*100 < len(files)*95 {
		t.Errorf("%d of %d hostile skills are found, fewer than 95 in a hundred", found, len(files))
	}
}

// Of two hundred harmless ones, at most two in a hundred raise an alarm.
func TestHarmlessSkillsRaiseHardlyAnAlarm(t *testing.T) {
	s, raised := newScanner(t), 0
	files := corpus(t, "harmless.txtar")
	share(t, files, func(f txtar.File) bool {
		found := alarms(s, f.Data)
		if len(found) > 0 {
			raised++
			if strings.Contains(f.Name, "tuned") {
				t.Logf("%s: %v", f.Name, found)
			}
		}
		return len(found) == 0
	})
	if raised*100 > len(files)*2 {
		t.Errorf("%d of %d harmless skills raise an alarm, more than two in a hundred", raised, len(files))
	}
}

// What stands in code is shown as it is and is no HTML; where that is in doubt, it is.
func TestCodeIsNotTakenForMarkup(t *testing.T) {
	s := newScanner(t)
	for text, html := range map[string]bool{
		"Use `<name>` here": false, "```\n<div>\n```\n": false, "~~~html\n<!-- x -->\n~~~\n": false, "``a ` <b>``": false,
		"```\n<div>\n": true, "\\`<b>\\`": true, "<a title=\"`\">`": true, "`a` <b> `c`": true, "~~~\n<b>\n```\n": true, "``<b>`": true,
	} {
		got := slices.ContainsFunc(s.Scan(text), func(f Finding) bool { return f.Family == "html" || f.Family == "hidden_text" })
		if got != html {
			t.Errorf("%q: found as HTML is %t", text, got)
		}
	}
}

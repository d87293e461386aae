package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// driven are the lines of all scripts that want an exit code: "CODE parley COMMAND…".
func driven(t *testing.T) string {
	t.Helper()
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range scripts {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if _, want, ok := strings.Cut(line, "exitcode "); ok {
				all.WriteString(want)
			}
			if words, ok := strings.CutPrefix(line, "interrupt "); ok { // wants 130 by itself
				all.WriteString("130 parley chat " + words)
			}
		}
	}
	return all.String()
}

// Scripts of others branch on these codes: each that the documentation names is seen.
func TestEveryDocumentedExitCodeIsDriven(t *testing.T) {
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "## Exit codes")
	table, _, _ = strings.Cut(table, "\n## ")
	lines := driven(t)
	rows := regexp.MustCompile("(?m)^\\| `([a-z ]+)` \\| (\\d+) \\|").FindAllStringSubmatch(table, -1)
	if len(rows) < 9 {
		t.Fatalf("the page has %d exit codes, want at least 9", len(rows))
	}
	for _, row := range rows {
		if !strings.Contains(lines, row[2]+" parley "+row[1]+" ") {
			t.Errorf("no script sees parley %s end with %s", row[1], row[2])
		}
	}
	for _, cmd := range newRoot().Commands() {
		for _, code := range []string{"1", "2"} {
			if !cmd.Hidden && !exempt[code+" "+cmd.Name()] && !regexp.MustCompile("(?m)^"+code+" parley "+cmd.Name()+"( |$)").MatchString(lines) {
				t.Errorf("no script sees parley %s end with %s", cmd.Name(), code)
			}
		}
	}
}

// exempt are commands that cannot fail.
var exempt = map[string]bool{"1 version": true}

package docs_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley.internal/internal/hub/config"
	"parley.internal/internal/identity"
)

const top = "../.."

func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(top, "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// section is what stands between <!-- name … --> and <!-- /name -->.
func section(t *testing.T, text, name string) string {
	t.Helper()
	m := regexp.MustCompile(`(?s)<!-- ` + name + `\b[^>]*-->\n(.*?)<!-- /` + name + ` -->`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no section %s", name)
	}
	return m[1]
}

func TestEverySettingIsInTheOperatorsTable(t *testing.T) {
	var want strings.Builder
	want.WriteString("| key | variable | flag | default | what |\n| --- | --- | --- | --- | --- |\n")
	code := func(s string) string {
		if s == "" {
			return ""
		}
		return "`" + s + "`"
	}
	for _, row := range config.Keys() {
		fmt.Fprintf(&want, "| %s | %s | %s | %s | %s |\n", code(row[0]), code(row[1]), code(row[2]), code(row[3]), strings.ReplaceAll(row[4], "|", `\|`))
	}
	got := section(t, page(t, "operations.md"), "settings")
	if diff := cmp.Diff(want.String(), got); diff != "" {
		t.Errorf("put this between the settings marks of docs/operations.md:\n%s\n%s", want.String(), diff)
	}
}

// metric names stand in the source as strings; parley_session is the page's cookie.
var metric = regexp.MustCompile(`"(parley_[a-z_]+)"`)

func TestEveryMetricIsDocumentedAndEveryDocumentedOneExists(t *testing.T) {
	inSource := map[string]bool{}
	err := filepath.WalkDir(filepath.Join(top, "internal"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, m := range metric.FindAllStringSubmatch(string(source), -1) {
			inSource[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{"parley_session", "parley_rooms"} { // a cookie, and a package of Python
		delete(inSource, other)
	}
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(parley_[a-z_]+)`").FindAllStringSubmatch(page(t, "operations.md"), -1) {
		documented[m[1]] = true
	}
	if diff := cmp.Diff(inSource, documented); diff != "" {
		t.Errorf("metrics in the source (-) and in docs/operations.md (+):\n%s", diff)
	}
}

func TestEveryScopeIsInTheTable(t *testing.T) {
	text := section(t, page(t, "security.md"), "scopes")
	for _, scope := range identity.Expand("*", identity.Admin, identity.TaskUnattended, identity.FleetUnattended, identity.NodeRegister).Sorted() {
		if !strings.Contains(text, "`"+scope+"`") {
			t.Errorf("%s is missing in docs/security.md", scope)
		}
	}
	for _, m := range regexp.MustCompile("`([a-z]+(?::[a-z]+)?)`").FindAllStringSubmatch(text, -1) {
		if len(identity.UnknownScopes(m[1])) > 0 {
			t.Errorf("docs/security.md names a scope nobody knows: %s", m[1])
		}
	}
}

// errorLine is a quoted text of the troubleshooting table.
var errorLine = regexp.MustCompile("(?m)^\\| `[^|]+\\|")

// The lines people search for must be the lines the program says.
func TestEveryErrorLineOfTheTroubleshootingTableIsInTheSource(t *testing.T) {
	var source strings.Builder
	for _, dir := range []string{"internal", "cmd", "client"} {
		err := filepath.WalkDir(filepath.Join(top, dir), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			source.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	_, table, ok := strings.Cut(page(t, "operations.md"), "| the line says | do |")
	if !ok {
		t.Fatal("no table")
	}
	for _, cell := range errorLine.FindAllString(table, -1) {
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
			for part := range strings.SplitSeq(m[1], "…") {
				part = strings.Trim(strings.TrimSuffix(strings.TrimSpace(part), ":"), " ")
				if part != "" && !strings.Contains(source.String(), part) {
					t.Errorf("nothing says %q any more", part)
				}
			}
		}
	}
}

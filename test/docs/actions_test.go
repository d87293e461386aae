package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley.internal/test/archtest"
)

// actions is the one list of what the trail can say.
func actions(t *testing.T) []archtest.Action {
	t.Helper()
	all, err := archtest.Actions(filepath.Join(top, "internal", "audit", "actions.go"))
	if err != nil || len(all) < 100 {
		t.Fatalf("%d actions read from the list: %v", len(all), err)
	}
	return all
}

// Whoever adds an action adds a word for it: the page would show its code otherwise.
func TestEveryActionOfTheTrailHasAWordOnThePage(t *testing.T) {
	want := map[string]bool{}
	for _, a := range actions(t) {
		want[a.Name] = true
	}
	table, err := os.ReadFile(filepath.Join(top, "web", "src", "lib", "actions.ts"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^  '([a-z_.]+)': '[^'\n]+',$`).FindAllStringSubmatch(string(table), -1) {
		if got[m[1]] {
			t.Errorf("%s has two words", m[1])
		}
		got[m[1]] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("actions without a word (-) and words for no action (+) in web/src/lib/actions.ts:\n%s", diff)
	}
}

func TestEveryActionOfTheTrailIsDocumented(t *testing.T) {
	var want strings.Builder
	want.WriteString("| action | what happened |\n| --- | --- |\n")
	all := actions(t)
	slices.SortFunc(all, func(a, b archtest.Action) int { return strings.Compare(a.Name, b.Name) })
	for _, a := range all {
		if a.Meaning == "" {
			t.Errorf("%s has no meaning behind it", a.Const)
		}
		fmt.Fprintf(&want, "| `%s` | %s |\n", a.Name, a.Meaning)
	}
	if diff := cmp.Diff(want.String(), section(t, page(t, "audit.md"), "actions")); diff != "" {
		t.Errorf("put this between the actions marks of docs/audit.md:\n%s\n%s", want.String(), diff)
	}
}

// notActions are spelled like an action and are something else: a code on the rooms' wire.
var notActions = []string{"room.closed"}

// An action that is spelled out where it is written would be missing from the list, and
// from everything that is held against it.
func TestActionsAreWrittenByTheirNameInTheList(t *testing.T) {
	known := map[string]string{}
	for _, a := range actions(t) {
		known[a.Name] = "audit." + a.Const
	}
	for _, part := range []string{"internal", "cmd"} {
		err := filepath.WalkDir(filepath.Join(top, part), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || filepath.Base(filepath.Dir(path)) == "audit" {
				return err
			}
			for _, complaint := range spelledOut(t, path, known) {
				t.Errorf("%s: %s", path, complaint)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// spelledOut finds texts that are an action, and actions made from texts.
func spelledOut(t *testing.T, path string, known map[string]string) (out []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			text, _ := strconv.Unquote(n.Value)
			if name := known[text]; name != "" && !slices.Contains(notActions, text) {
				out = append(out, fmt.Sprintf("write %s instead of %s", name, n.Value))
			}
		case *ast.CallExpr:
			if isAudit(n.Fun, "Action") {
				out = append(out, "makes an action out of a text: add it to the list in internal/audit/actions.go")
			}
		case *ast.CompositeLit:
			if isAudit(n.Type, "Entry") && hasLiteralAction(n) {
				out = append(out, "writes an action that is not in the list in internal/audit/actions.go")
			}
		}
		return true
	})
	return out
}

func isAudit(e ast.Expr, name string) bool {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := sel.X.(*ast.Ident)
	return ok && pkg.Name == "audit" && sel.Sel.Name == name
}

func hasLiteralAction(entry *ast.CompositeLit) bool {
	for _, e := range entry.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		key, ok := kv.Key.(*ast.Ident)
		if _, literal := kv.Value.(*ast.BasicLit); ok && literal && key.Name == "Action" {
			return true
		}
	}
	return false
}

// elsewhere is where actions are seen to be written that no package's TestMain is held to.
var elsewhere = map[string]string{
	"audit.cut":              "cmd/parley/testdata/script/cut_trail.txtar",
	"audit.cut_acknowledged": "internal/audit.TestAnAcknowledgedCutIsNamedAndNeverCalledIntact",
	"audit.dropped":          "internal/audit.TestNotesThatCannotBeKeptAreCountedInTheTrail",
	"audit.restored":         "cmd/parley/testdata/script/backup.txtar",
	"audit.witness_added":    "cmd/parley/testdata/script/witness_hub.txtar",
	"scope.refused":          "internal/face/api.TestARequestWithoutItsScopeIsInTheTrailOnce",
}

// Every action is written while some test looks: in the package whose TestMain claims the
// beginning of its name (test/trailtest), or where this file says.
func TestEveryActionIsSeenToBeWritten(t *testing.T) {
	claimed := claims(t)
	tests := archtest.NewTests(os.DirFS(top))
	for _, a := range actions(t) {
		if reference := elsewhere[a.Name]; reference != "" {
			if err := tests.Look(reference); err != nil {
				t.Errorf("%s: %v; want no error", a.Name, err)
			}
			continue
		}
		mine := func(list []string) bool {
			return slices.ContainsFunc(list, func(b string) bool { return strings.HasPrefix(a.Name, b) }) && !slices.Contains(list, "!"+a.Name)
		}
		if !slices.ContainsFunc(claimed, mine) {
			t.Errorf("no test looks whether %s is written: name it in a package's trailtest.Main", a.Name)
		}
	}
}

// claims are the beginnings of actions that packages' tests are held to.
func claims(t *testing.T) (all [][]string) {
	t.Helper()
	call := regexp.MustCompile(`trailtest\.Main\(m, ([^)]*)\)`)
	err := filepath.WalkDir(filepath.Join(top, "internal"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		if m := call.FindSubmatch(source); m != nil {
			all = append(all, strings.Split(strings.ReplaceAll(string(m[1]), `"`, ""), ", "))
		}
		return err
	})
	if err != nil || len(all) < 10 {
		t.Fatalf("%d packages claim actions: %v", len(all), err)
	}
	return all
}

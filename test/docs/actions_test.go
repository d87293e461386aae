package docs_test

import (
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
)

// notActions look like an action of the audit trail, in a package that writes to it,
// and are something else: subjects on the bus, leases, codes, tools, files.
var notActions = []string{
	"budget.extend", "fleet.news", "identity.revoked", "install.sh", "operator.admin", "operator.approvals", "operator.pairing",
	"operator.read", "operator.write", "parley.exe", "place.housekeeper", "proof.nonce", "room.closed", "terminal.hello",
}

// made are actions put together from a family and a state or kind.
var made = map[string]func(*testing.T) []string{
	"extension.":     constants("protocol/mmp", "ExtensionState"),
	"fleet.rollout.": constants("internal/fleet", "RolloutState"),
	"room.":          roomKinds,
	"skill.":         constants("internal/skill", "ItemState"),
}

// Whoever adds an action adds a word for it: the page would show its code otherwise.
func TestEveryActionOfTheTrailHasAWordOnThePage(t *testing.T) {
	want := map[string]bool{}
	for dir := range writers(t) {
		for _, text := range literals(t, dir) {
			if action.MatchString(text) && !slices.Contains(notActions, text) {
				want[text] = true
			}
		}
	}
	for family, states := range made {
		for _, state := range states(t) {
			want[family+state] = true
		}
	}
	if len(want) < 80 {
		t.Fatalf("only %d actions found: does this test still find them?", len(want))
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

// A family whose actions are put together in a way this file does not know would go unseen.
func TestEveryActionPutTogetherIsKnown(t *testing.T) {
	joined := regexp.MustCompile(`\bAction: +("[a-z.]+"|[a-z]\w+) \+`)
	for dir, sources := range writers(t) {
		for _, m := range joined.FindAllStringSubmatch(sources, -1) {
			family := strings.Trim(m[1], `"`)
			if family == "actionPrefix" {
				family = "room."
			}
			if made[family] == nil {
				t.Errorf("%s puts actions of %s together: name what may follow", dir, m[1])
			}
		}
	}
}

var action = regexp.MustCompile(`^[a-z]+(\.[a-z_]+)+$`)

// writers are the packages that make entries of the trail, with their sources.
func writers(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, part := range []string{"internal", "cmd"} {
		err := filepath.WalkDir(filepath.Join(top, part), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			found[filepath.Dir(path)] += string(source)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	trail := filepath.Join(top, "internal", "audit")
	for dir, sources := range found {
		if dir != trail && !strings.Contains(sources, "audit.Entry{") {
			delete(found, dir)
		}
	}
	return found
}

// files parses the sources of a package, without its tests.
func files(t *testing.T, dir string) []*ast.File {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no sources in %s: %v", dir, err)
	}
	var out []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, f)
	}
	return out
}

// literals are the texts in a package's code.
func literals(t *testing.T, dir string) (out []string) {
	t.Helper()
	for _, f := range files(t, dir) {
		ast.Inspect(f, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil {
					out = append(out, text)
				}
			}
			return true
		})
	}
	return out
}

// constants are the values of a named text type.
func constants(dir, typ string) func(*testing.T) []string {
	return func(t *testing.T) (out []string) {
		t.Helper()
		for _, f := range files(t, filepath.Join(top, dir)) {
			ast.Inspect(f, func(n ast.Node) bool {
				spec, ok := n.(*ast.ValueSpec)
				if !ok {
					return true
				}
				if id, ok := spec.Type.(*ast.Ident); !ok || id.Name != typ {
					return true
				}
				for _, v := range spec.Values {
					if lit, ok := v.(*ast.BasicLit); ok {
						out = append(out, strings.Trim(lit.Value, `"`))
					}
				}
				return true
			})
		}
		if len(out) == 0 {
			t.Errorf("no constants of type %s in %s", typ, dir)
		}
		return out
	}
}

// roomKinds are the kinds of entries a room writes.
func roomKinds(t *testing.T) (out []string) {
	t.Helper()
	written := regexp.MustCompile(`(?:\bkind:? :?=? ?|\.entry\()"([a-z]+)"`)
	for _, m := range written.FindAllStringSubmatch(writers(t)[filepath.Join(top, "internal", "room")], -1) {
		out = append(out, m[1])
	}
	return out
}

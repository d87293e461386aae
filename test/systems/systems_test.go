package systems

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/analysis/suite/vet"
	"golang.org/x/tools/go/packages"
)

// This machine's own system is compiled, vetted and tested by everything else.
var others = []string{"windows/amd64", "darwin/arm64", "linux/arm64"}

func TestTheWholeModuleIsRightOnEverySystemThatIsReleased(t *testing.T) {
	for _, target := range others {
		t.Run(target, func(t *testing.T) {
			pkgs := load(t, target)
			compiles(t, target, pkgs)
			vetted(t, slices.DeleteFunc(pkgs, func(p *packages.Package) bool { return !ofOneSystem(p) }))
		})
	}
}

// compiles wants no error in what is ours, and everything else to be there.
func compiles(t *testing.T, target string, pkgs []*packages.Package) {
	t.Helper()
	for p := range packages.Postorder(pkgs) {
		for _, e := range p.Errors {
			if e.Kind != packages.TypeError || ours(p.PkgPath) {
				t.Errorf("on %s, %s does not compile: %v", target, p.ID, e)
			}
		}
	}
	if t.Failed() {
		t.FailNow() // what does not compile cannot be vetted
	}
}

// load type-checks our packages and all they import, from source.
func load(t *testing.T, target string) []*packages.Package {
	t.Helper()
	system, processor, _ := strings.Cut(target, "/")
	pkgs, err := packages.Load(&packages.Config{
		Mode:      packages.LoadAllSyntax,
		Env:       append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0"),
		Context:   t.Context(),
		Tests:     true,
		ParseFile: parse,
	}, module+"/...")
	if err != nil {
		t.Fatal(err)
	}
	return pkgs
}

const module = "parley.internal"

// ours are not the programs that go writes around tests.
func ours(path string) bool {
	return strings.HasPrefix(path, module) && !strings.HasSuffix(path, ".test")
}

// parse leaves out what the functions of others do: their authors compile that, and
// keeping all of it takes gigabytes.
func parse(set *token.FileSet, name string, src []byte) (*ast.File, error) {
	if root, _ := filepath.Abs("../.."); strings.HasPrefix(name, root+string(filepath.Separator)) {
		return parser.ParseFile(set, name, src, parser.AllErrors|parser.ParseComments)
	}
	f, err := parser.ParseFile(set, name, src, parser.AllErrors|parser.SkipObjectResolution)
	if err != nil {
		return f, err
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Type.TypeParams == nil {
			fn.Body = nil
		}
	}
	return f, nil
}

// ofOneSystem says whether a package leaves files out somewhere. What every system has,
// the linter has vetted here.
func ofOneSystem(p *packages.Package) bool {
	return len(p.IgnoredFiles) > 0
}

// vetted runs what `go vet` runs, but for what needs facts about every dependency.
func vetted(t *testing.T, pkgs []*packages.Package) {
	t.Helper()
	for _, p := range pkgs {
		p.IllTyped = false // only what was left out of others is missing
	}
	own := slices.DeleteFunc(slices.Clone(vet.Suite), needsFacts)
	graph, err := checker.Analyze(own, pkgs, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, act := range graph.Roots {
		if act.Err != nil {
			t.Errorf("%s: %v; want no error", act, act.Err)
		}
		for _, d := range act.Diagnostics {
			t.Errorf("%s: %s", act.Package.Fset.Position(d.Pos), d.Message)
		}
	}
}

func needsFacts(a *analysis.Analyzer) bool {
	return len(a.FactTypes) > 0 || slices.ContainsFunc(a.Requires, needsFacts)
}

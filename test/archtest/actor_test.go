package archtest_test

import (
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// identityPath is the one package that makes actors.
const identityPath = "parley.internal/internal/identity"

// Whoever acts was made by internal/identity, from a credential that was verified or from
// another actor by what takes away. A package that could write an actor down, or change a
// field of one, could be anybody.
func TestOnlyIdentityMakesAnActor(t *testing.T) {
	for _, pkg := range listPackages(t) {
		if pkg.path == identityPath || !pkg.knows(identityPath) {
			continue
		}
		for _, where := range actorsMadeIn(t, pkg) {
			t.Errorf("%s: only internal/identity says who acts; make it there from another actor, by what takes away", where)
		}
	}
}

// The search itself is shown what it must find.
func TestMakingAnActorIsFound(t *testing.T) {
	const source = `package p
import "parley.internal/internal/identity"
type holder struct{ who identity.Actor }
func literal() identity.Actor { return identity.Actor{Owner: true} }
func pointer() *identity.Actor { return &identity.Actor{Owner: true} }
func listed() []identity.Actor { return []identity.Actor{{Owner: true}} }
func scopes(a identity.Actor) { a.Scopes = identity.Expand("*") }
func inside(h *holder) { h.who.Agent = "x" }
func within(h *holder) { h.who.Via.PageID = "x" }
func address(a identity.Actor) *bool { return &a.InPerson }
func nobody() identity.Actor { return identity.Actor{} }
func whole(h *holder) { h.who = identity.Hub() }
`
	path := filepath.Join(t.TempDir(), "p.go")
	if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	pkg := listedPackage{path: "p", files: []string{path}, exports: listPackages(t)[0].exports}
	if found := actorsMadeIn(t, pkg); len(found) != 7 {
		t.Errorf("found %q; there are seven ways to make an actor in the example", found)
	}
}

// listedPackage is a package of the tree as the go command knows it.
type listedPackage struct {
	path    string
	files   []string
	imports map[string]bool
	exports map[string]string // the compiled packages, by path
}

func (p listedPackage) knows(path string) bool { return p.imports[path] }

// listPackages asks the go command for the product's packages, compiled.
func listPackages(t *testing.T) []listedPackage {
	t.Helper()
	const format = "{{.ImportPath}}\t{{.Export}}\t{{.DepOnly}}\t{{.Dir}}\t{{join .GoFiles \",\"}}\t{{join .Imports \",\"}}"
	cmd := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-f", format, "./internal/...", "./cmd/...")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	exports := map[string]string{}
	var list []listedPackage
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		exports[f[0]] = f[1]
		if f[2] == "true" || f[4] == "" {
			continue
		}
		p := listedPackage{path: f[0], exports: exports, imports: map[string]bool{}}
		for name := range strings.SplitSeq(f[4], ",") {
			p.files = append(p.files, filepath.Join(f[3], name))
		}
		for path := range strings.SplitSeq(f[5], ",") {
			p.imports[path] = true
		}
		list = append(list, p)
	}
	return list
}

// actorsMadeIn lists where a package writes an actor down or changes a part of one.
func actorsMadeIn(t *testing.T, pkg listedPackage) (found []string) {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	for _, path := range pkg.files {
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	compiled := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		if pkg.exports[path] == "" {
			return nil, errors.New("not compiled: " + path)
		}
		return os.Open(pkg.exports[path])
	})
	if _, err := (&types.Config{Importer: compiled}).Check(pkg.path, fset, files, info); err != nil {
		t.Fatal(err)
	}
	look := actorLook{info: info, found: func(at token.Pos) { found = append(found, fset.Position(at).String()) }}
	for _, file := range files {
		ast.Inspect(file, look.node)
	}
	return found
}

// actorLook goes through a file that was type-checked.
type actorLook struct {
	info  *types.Info
	found func(token.Pos)
}

func (l actorLook) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CompositeLit:
		if len(n.Elts) > 0 && named(l.info.TypeOf(n), "Actor") {
			l.found(n.Pos())
		}
	case *ast.AssignStmt:
		for _, to := range n.Lhs {
			l.changes(to)
		}
	case *ast.IncDecStmt:
		l.changes(n.X)
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			l.changes(n.X)
		}
	}
	return true
}

// changes reports a field of an actor that is written to, or could be.
func (l actorLook) changes(to ast.Expr) {
	for {
		sel, ok := ast.Unparen(to).(*ast.SelectorExpr)
		if !ok {
			return
		}
		if l.info.Selections[sel] != nil && named(l.info.TypeOf(sel.X), "Actor") {
			l.found(sel.Pos())
			return
		}
		to = sel.X
	}
}

// named reports whether a type is one of internal/identity, or a pointer to it.
func named(t types.Type, name string) bool {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Name() == name && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == identityPath
}

package docs_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the references of the SDKs")

// The reference of the Go SDK is what its package says of itself.
func TestTheReferenceOfTheGoSDKSaysWhatItsTypesSay(t *testing.T) {
	compare(t, "sdk/go.md", goReference(t))
}

// The reference of the Python SDK is what its modules say of themselves.
func TestTheReferenceOfThePythonSDKSaysWhatItsTypesSay(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		if os.Getenv("PARLEY_TEST_REQUIRE_ALL") != "" {
			t.Fatal("install python3")
		}
		t.Skip("install python3")
	}
	out, err := exec.CommandContext(t.Context(), python, "testdata/reference.py", filepath.Join(top, "sdk/python/parley_rooms")).Output()
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "sdk/python.md", string(out))
}

func compare(t *testing.T, name, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(filepath.Join(top, "docs", name), []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, page(t, name)); diff != "" {
		t.Errorf("docs/%s is old; go test ./test/docs -run Reference -update\n%s", name, diff)
	}
}

func goReference(t *testing.T) string {
	t.Helper()
	set := token.NewFileSet()
	dir := filepath.Join(top, "client/roomagent")
	parsed, err := parser.ParseDir(set, dir, func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }, parser.ParseComments) //nolint:staticcheck // go/doc wants a package, types do not matter
	if err != nil {
		t.Fatal(err)
	}
	p := doc.New(parsed["roomagent"], "parley.internal/client/roomagent", 0)
	var b strings.Builder
	b.WriteString("# The Go SDK, call by call\n\n<!-- made of the package by test/docs -->\n\n" +
		"How to get it and what to do with it: [embed.md](../embed.md). The same in a shell: `go doc -all parley.internal/client/roomagent`.\n\n")
	b.WriteString(strings.TrimSpace(string(p.Markdown(p.Doc))) + "\n")
	show := func(text string, decls ...ast.Node) {
		for _, d := range decls {
			fmt.Fprintf(&b, "\n```go\n%s\n```\n", source(t, set, d))
		}
		if text = strings.TrimSpace(string(p.Markdown(text))); text != "" {
			fmt.Fprintf(&b, "\n%s\n", text)
		}
	}
	for _, f := range p.Funcs {
		fmt.Fprintf(&b, "\n## %s\n", f.Name)
		show(f.Doc, f.Decl)
	}
	for _, typ := range p.Types {
		fmt.Fprintf(&b, "\n## %s\n", typ.Name)
		show(typ.Doc, typ.Decl)
		for _, f := range append(typ.Funcs, typ.Methods...) {
			show(f.Doc, f.Decl)
		}
	}
	if len(p.Vars) > 0 {
		b.WriteString("\n## Errors\n")
	}
	for _, v := range p.Vars {
		show(v.Doc, v.Decl)
	}
	return b.String()
}

// source is a declaration without its body and without what is not exported.
func source(t *testing.T, set *token.FileSet, d ast.Node) string {
	t.Helper()
	if f, ok := d.(*ast.FuncDecl); ok {
		f.Body, f.Doc = nil, nil
	}
	if g, ok := d.(*ast.GenDecl); ok {
		g.Doc = nil
	}
	var b bytes.Buffer
	if err := (&printer.Config{Mode: printer.UseSpaces | printer.TabIndent, Tabwidth: 4}).Fprint(&b, set, d); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

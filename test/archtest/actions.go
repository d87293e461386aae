package archtest

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
)

// Action is one of internal/audit's list: the constant, what it says, and what it means.
type Action struct{ Const, Name, Meaning string }

// Actions reads the list from its source, internal/audit/actions.go.
func Actions(file string) ([]Action, error) {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	var all []Action
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		lit, ok := spec.Values[0].(*ast.BasicLit)
		if !ok {
			return true
		}
		name, bad := strconv.Unquote(lit.Value)
		err = errors.Join(err, bad)
		all = append(all, Action{Const: spec.Names[0].Name, Name: name, Meaning: strings.TrimSpace(spec.Comment.Text())})
		return true
	})
	return all, err
}

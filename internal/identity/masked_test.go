package identity

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"parley.internal/internal/audit"
	"parley.internal/internal/store/storetest"
)

// secretPrefixes reads the kinds of secrets from where they are made, so that a new kind
// is not forgotten here.
func secretPrefixes(t *testing.T) (found []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "secret.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasSuffix(spec.Names[0].Name, "Prefix") {
			return true
		}
		if lit, ok := spec.Values[0].(*ast.BasicLit); ok {
			text, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, text)
		}
		return true
	})
	return found
}

// The trail is the last line of defence: a caller that writes a secret into it has a bug.
func TestEveryKindOfSecretIsBlottedOutOfTheTrail(t *testing.T) {
	prefixes := secretPrefixes(t)
	if len(prefixes) < 3 {
		t.Fatalf("found only %q: does this test still find the kinds of secrets?", prefixes)
	}
	trail, err := audit.Open(t.Context(), storetest.SQLite(t), audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = trail.Close() }()
	for _, prefix := range prefixes {
		secret := newSecret(prefix)
		err := trail.Append(t.Context(), audit.Entry{
			Actor: secret, OnBehalf: "x" + secret, Action: audit.TokenCreated, Target: "/#login=" + secret, Outcome: secret, Digest: secret,
			Detail: map[string]any{"a": secret, secret: []string{"b " + secret + " c"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		for line, err := range trail.Export(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			text.Write(line)
		}
		if strings.Contains(text.String(), secret) || strings.Contains(text.String(), secret[len(prefix):]) {
			t.Errorf("a secret with %s is in the trail: %s", prefix, text.String())
		}
	}
}

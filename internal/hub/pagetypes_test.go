package hub_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// The page's types are made from what the REST face says of itself, by scripts/types.sh, which
// runs this with -update for the document. The file says which document it was made from.
func TestThePagesTypesAreOfThisRESTFace(t *testing.T) {
	document := schemas(t, newRig(t))
	if *update {
		if err := os.WriteFile("../../web/openapi.json", document, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	types, err := os.ReadFile("../../web/src/gen/rest.d.ts")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(document)
	if first, _, _ := strings.Cut(string(types), "\n"); !strings.Contains(first, hex.EncodeToString(sum[:])) {
		t.Errorf("the REST face has changed since the page's types were made; if that is meant: scripts/types.sh\nthey begin with %s", first)
	}
}

// schemas are the types of the document, alone: the page writes paths itself.
func schemas(t *testing.T, r *rig) []byte {
	t.Helper()
	var document struct {
		Components struct {
			Schemas map[string]any `json:"schemas"`
		} `json:"components"`
	}
	got := r.do(ask{method: "GET", path: "/api/openapi.json"})
	if err := json.Unmarshal(got.body, &document); err != nil || len(document.Components.Schemas) < 100 {
		t.Fatalf("the hub answered %d with %d types: %v", got.status, len(document.Components.Schemas), err)
	}
	text, err := json.MarshalIndent(map[string]any{
		"openapi": "3.1.0", "info": map[string]string{"title": "Parley", "version": "0"}, "paths": map[string]any{},
		"components": map[string]any{"schemas": document.Components.Schemas},
	}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

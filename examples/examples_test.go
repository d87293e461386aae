// Package examples_test keeps the examples working.
package examples_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley.internal/internal/brain"
)

func TestTheExampleAgentsHaveNoMistakes(t *testing.T) {
	files, err := filepath.Glob("agents/*.md")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := brain.ParseAgent(strings.TrimSuffix(filepath.Base(file), ".md"), text); err != nil {
			t.Errorf("%s: %v; want no error", file, err)
		}
	}
}

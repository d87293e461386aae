package main

import (
	"os"
	"testing"

	"parley.internal/test/archtest"
)

// root is the repository, seen from this package's folder.
const root = "../.."

// Code moves on; a mutant that no longer fits would show nothing.
func TestEveryMutantFitsAndNamesATest(t *testing.T) {
	tests := archtest.NewTests(os.DirFS(root))
	for _, m := range mutants {
		if _, err := m.mutate(root); err != nil {
			t.Errorf("%s: %v; want no error", m.name, err)
		}
		if err := tests.Look(m.pkg + "." + m.test); err != nil {
			t.Errorf("%s: %v; want no error", m.name, err)
		}
	}
}

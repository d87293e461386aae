package tools

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"parley.internal/internal/endpoint/guard"
	wire "parley.internal/protocol/kenny"
)

// forest makes folders with files in them.
func forest(t testing.TB, folders, files int) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i := range folders {
		dir := filepath.Join(root, fmt.Sprintf("folder-%04d", i))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for k := range files {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("leaf-%04d.txt", k)), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return root
}

func searcher(t testing.TB, root, pattern string) (*Set, Call) {
	t.Helper()
	tool, _ := wire.Lookup("fs_search")
	args, err := tool.CheckArgs(fmt.Appendf(nil, `{"root":%q,"pattern":%q}`, root, pattern))
	if err != nil {
		t.Fatal(err)
	}
	return New(Deps{OS: wire.Linux, Guard: guard.New(wire.Linux, slog.New(slog.DiscardHandler))}), Call{ID: "c", Tool: tool, Args: args}
}

// patience is a context whose time is up after it was asked some times.
type patience struct {
	context.Context
	left int
}

func (p *patience) Err() error {
	if p.left--; p.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

func TestASearchThatRunsOutOfTimeGivesWhatItFound(t *testing.T) {
	s, call := searcher(t, forest(t, 20, 5), "leaf")
	result, err := s.Run(&patience{t.Context(), 40}, call)
	if err != nil {
		t.Fatalf("what was found in time is lost: %v", err)
	}
	found := result.(searchResult)
	if !found.Truncated || len(found.Matches) == 0 || len(found.Matches) >= 100 {
		t.Errorf("%d of 100 files, marked as cut: %v; wanted some of them, marked", len(found.Matches), found.Truncated)
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Run(stopped, call); err == nil {
		t.Error("a search that was called off looks like one that found nothing")
	}
}

// A search looks at every name and judges only what it would show or enter.
func BenchmarkSearch(b *testing.B) {
	s, call := searcher(b, forest(b, 200, 100), "nothing is called this")
	for b.Loop() {
		if _, err := s.Run(b.Context(), call); err != nil {
			b.Fatal(err)
		}
	}
}

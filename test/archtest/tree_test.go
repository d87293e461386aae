package archtest_test

import (
	"bytes"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxLines is where a file stops being readable in one sitting.
const maxLines = 900

// built lists what was made or fetched, not written. In a second working tree .git is a file.
var built = []string{".git", ".tools", "bin", "dist", "node_modules"}

// eachFile calls fn for every written file of the tree.
func eachFile(t *testing.T, fn func(path string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains(built, entry.Name()):
			return fs.SkipDir
		case entry.Type().IsRegular() && !slices.Contains(built, entry.Name()):
			fn(path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestEveryPackageIntroducesItself(t *testing.T) {
	introduced := map[string]bool{}
	eachFile(t, func(path string) {
		dir, name := filepath.Split(path)
		if filepath.Ext(name) != ".go" || strings.Contains(path, "/testdata/") {
			return
		}
		if match, err := build.Default.MatchFile(dir, name); err != nil || !match {
			return
		}
		introduced[dir] = introduced[dir] || introduces(t, path)
	})
	for dir, ok := range introduced {
		if !ok {
			t.Errorf("%s has no package comment: say in doc.go what it is for and what it guarantees", dir)
		}
	}
}

// introduces tells whether the file carries the package comment.
func introduces(t *testing.T, path string) bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.PackageClauseOnly|parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	if file.Doc == nil {
		return false
	}
	return file.Name.Name == "main" || strings.HasPrefix(file.Doc.Text(), "Package "+file.Name.Name+" ")
}

// maxFiles is how many files of a folder one can know; tests are not counted.
const maxFiles = 40

func TestNoFolderHasTooManyGoFiles(t *testing.T) {
	files := map[string]int{}
	eachFile(t, func(path string) {
		if filepath.Ext(path) == ".go" && !strings.HasSuffix(path, "_test.go") {
			dir, err := filepath.Rel(root, filepath.Dir(path))
			if err != nil {
				t.Fatal(err)
			}
			files[filepath.ToSlash(dir)]++
		}
	})
	for dir, n := range files {
		if n > maxFiles {
			t.Errorf("%s has %d Go files, more than %d: it is two packages", dir, n, maxFiles)
		}
	}
}

func TestNoGoFileIsTooLong(t *testing.T) {
	eachFile(t, func(path string) {
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, ".pb.go") {
			return
		}
		if lines := bytes.Count(read(t, path), []byte("\n")); lines > maxLines {
			t.Errorf("%s has %d lines, more than %d: split it by concept", path, lines, maxLines)
		}
	})
}

// The patterns are put together from parts, so that this file does not match itself.
var outside = regexp.MustCompile(`\.\./` + `shared\b` + `|(^|[^A-Za-z0-9_.-])/work/` + `(main|shared|\.library)\b`)

func TestTheTreeStandsAlone(t *testing.T) {
	eachFile(t, func(path string) {
		text := read(t, path)
		if !bytes.Contains(text, []byte("/wor"+"k/")) && !bytes.Contains(text, []byte("../sha"+"red")) {
			return // the usual case; the pattern alone is slow over a whole tree
		}
		if at := outside.FindIndex(text); at != nil {
			line := 1 + bytes.Count(text[:at[0]], []byte("\n"))
			t.Errorf("%s:%d reaches outside the repository: %q", path, line, text[at[0]:at[1]])
		}
	})
}

package archtest

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// Tests finds tests in a tree by the references conformance pages use:
//
//	internal/talk.TestHello            a Go test or fuzz test of that package
//	internal/talk.TestHello/two_words  one of its subtests; only TestHello is looked up
//	test/browser/page.mjs: title       a test with that title in a script
//	cmd/parley/testdata/chat.txtar     a script that drives the program
type Tests struct {
	tree fs.FS
}

// NewTests looks in tree, whose root is the repository's.
func NewTests(tree fs.FS) Tests { return Tests{tree: tree} }

var (
	goTest     = regexp.MustCompile(`^([a-z0-9_/.-]+)\.((?:Test|Fuzz)[A-Za-z0-9_]*)(?:/.+)?$`)
	scriptTest = regexp.MustCompile(`^(\S+\.(?:mjs|js|ts)):\s+(.+)$`)
	scriptFile = regexp.MustCompile(`^\S+\.(?:txtar|txt)$`)
)

// Look reports whether the reference names a test that is there.
func (s Tests) Look(reference string) error {
	if m := goTest.FindStringSubmatch(reference); m != nil {
		return s.lookGo(reference, m[1], m[2])
	}
	if m := scriptTest.FindStringSubmatch(reference); m != nil {
		return s.lookTitle(m[1], m[2])
	}
	if scriptFile.MatchString(reference) {
		if _, err := fs.Stat(s.tree, reference); err != nil {
			return fmt.Errorf("`%s` is not there", reference)
		}
		return nil
	}
	return fmt.Errorf("`%s` names no test: write `package/path.TestName`, `path/file.mjs: title` or `path/script.txtar`", reference)
}

func (s Tests) lookGo(reference, dir, name string) error {
	files, err := fs.Glob(s.tree, path.Join(dir, "*_test.go"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("`%s`: no test files in %s", reference, dir)
	}
	for _, file := range files {
		source, err := fs.ReadFile(s.tree, file)
		if err != nil {
			return err
		}
		if strings.Contains("\n"+string(source), "\nfunc "+name+"(") {
			return nil
		}
	}
	return fmt.Errorf("`%s`: no func %s in %s", reference, name, dir)
}

func (s Tests) lookTitle(file, title string) error {
	source, err := fs.ReadFile(s.tree, file)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("`%s: %s`: the file is not there", file, title)
	}
	if err != nil {
		return err
	}
	for _, quote := range []string{"'", `"`, "`"} {
		if strings.Contains(string(source), "("+quote+title+quote) {
			return nil
		}
	}
	return fmt.Errorf("`%s: %s`: no test has that title", file, title)
}

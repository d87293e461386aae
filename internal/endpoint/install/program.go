package install

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"parley.internal/internal/endpoint/update"
)

// ProgramPath is where the service's program lives, whichever of the two programs it is. It
// is not where a hub's program may be: that one is not to be replaced by an endpoint's update.
func ProgramPath() string {
	if runtime.GOOS == "windows" {
		return filepath.Join(os.Getenv("ProgramFiles"), "Parley", "parley-endpoint.exe")
	}
	return "/usr/local/bin/parley-endpoint"
}

// putProgram copies the program to its place and gives the way back: what was there
// before is there again, or nothing is.
func putProgram(from, to string) (undo func(), err error) {
	if same(from, to) {
		return func() {}, nil
	}
	before := to + ".before"
	undo = func() { _ = os.Remove(to) }
	if _, err := os.Stat(to); err == nil {
		if err := update.CopyFile(to, before); err != nil {
			return nil, fmt.Errorf("keep the program that is there: %w", err)
		}
		undo = func() { _ = os.Rename(before, to) }
	}
	if err := CopyProgram(from, to); err != nil {
		_ = os.Remove(before)
		return nil, err
	}
	return undo, nil
}

// CopyProgram puts a program where the service expects it. A copy that is in
// use is moved aside first: a running program cannot be written to everywhere.
func CopyProgram(from, to string) error {
	if same(from, to) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil { //nolint:gosec // programs are for everybody
		return err
	}
	tmp := to + ".new"
	if err := update.CopyFile(from, tmp); err != nil {
		_ = os.Remove(tmp)
		return fmt.Errorf("copy the program: %w", err)
	}
	if runtime.GOOS == "windows" {
		_ = os.Remove(to + ".old") // of an earlier installation
		_ = os.Rename(to, to+".old")
	}
	if err := os.Rename(tmp, to); err != nil {
		_ = os.Remove(tmp)
		return err
	}
	return nil
}

func same(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

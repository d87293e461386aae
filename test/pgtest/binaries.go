package pgtest

import (
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// ErrNotInstalled says that this machine has no PostgreSQL server programs.
var ErrNotInstalled = errors.New("PostgreSQL server programs not found: install them (Debian: apt-get install postgresql; macOS: brew install postgresql) or point PARLEY_PG_BIN at their folder")

// BinDir finds the folder that holds initdb and postgres. The order is: the
// PARLEY_PG_BIN variable, the newest of the usual install folders, pg_config, PATH.
// Distributions keep the server programs out of PATH, which is why PATH comes last.
func BinDir() (string, error) {
	for _, dir := range candidates() {
		if isProgram(filepath.Join(dir, "initdb")) && isProgram(filepath.Join(dir, "postgres")) {
			return dir, nil
		}
	}
	return "", ErrNotInstalled
}

func candidates() []string {
	if dir := os.Getenv("PARLEY_PG_BIN"); dir != "" {
		return []string{dir}
	}
	var dirs []string
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin",
		"/usr/pgsql-*/bin",
		"/opt/homebrew/opt/postgresql*/bin",
		"/usr/local/opt/postgresql*/bin",
	} {
		found, _ := filepath.Glob(pattern) // the only error is a bad pattern, and these are constants
		slices.SortFunc(found, newestFirst)
		dirs = append(dirs, found...)
	}
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		// A link in PATH may point at the real folder; initdb looks for its
		// share folder relative to that one.
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		dirs = append(dirs, filepath.Dir(path))
	}
	return dirs
}

// newestFirst orders install folders by the version number in their path, as numbers:
// 9 comes after 15.
func newestFirst(a, b string) int {
	return cmp.Compare(versionIn(b), versionIn(a))
}

func versionIn(path string) int {
	digits := strings.FieldsFunc(path, func(r rune) bool { return r < '0' || r > '9' })
	if len(digits) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(digits[0]) // digits only; too many of them count as 0
	return n
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

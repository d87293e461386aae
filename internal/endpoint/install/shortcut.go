package install

import (
	"errors"
	"os"
	"path/filepath"
)

// shortcut is a way to the switch for people who use no command line.
type shortcut struct {
	path    string
	content string
	mode    os.FileMode
}

// Shortcuts puts the two ways to the switch where people find them.
func Shortcuts(program, state string) error {
	var errs []error
	for _, s := range shortcuts(program, state) {
		if err := os.MkdirAll(filepath.Dir(s.path), 0o755); err != nil { //nolint:gosec // for everybody
			errs = append(errs, err)
			continue
		}
		errs = append(errs, os.WriteFile(s.path, []byte(s.content), s.mode))
	}
	return errors.Join(errs...)
}

// RemoveShortcuts takes them away.
func RemoveShortcuts(program, state string) error {
	var errs []error
	for _, s := range shortcuts(program, state) {
		if err := os.Remove(s.path); !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

package truepath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Kinds of refusal.
var (
	// ErrRelative: a path must be absolute.
	ErrRelative = errors.New("the path must be absolute")
	// ErrKind: not a regular file or folder, as the case may be.
	ErrKind = errors.New("not a file of the right kind")
)

// File is an opened file or folder.
type File struct {
	// Final is where it really is; more than one spelling where the system
	// knows several.
	Final []string
	Info  fs.FileInfo

	handle *os.File
}

// Open opens a file or folder for looking at. Nothing is read yet.
func Open(path string) (*File, error) {
	if !filepath.IsAbs(path) {
		return nil, ErrRelative
	}
	return open(path, true)
}

// OpenHere is Open for the last component of a walk: a link is not followed.
func OpenHere(path string) (*File, error) { return open(path, false) }

// Close forgets the file.
func (f *File) Close() error { return f.handle.Close() }

// Reader opens the very same file for reading; the caller closes it.
func (f *File) Reader() (*os.File, error) {
	if !f.Info.Mode().IsRegular() {
		return nil, ErrKind
	}
	return f.reopen()
}

// Folder opens the very same folder for listing; the caller closes it.
func (f *File) Folder() (*os.File, error) {
	if !f.Info.IsDir() {
		return nil, ErrKind
	}
	return f.reopen()
}

// Resolve gives the path with the links of its longest existing part undone.
// It is for judging paths that lead nowhere, or not yet.
func Resolve(path string) string {
	rest := ""
	for at := path; ; {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(long(real), rest)
		}
		parent := filepath.Dir(at)
		if parent == at {
			return path
		}
		rest = filepath.Join(filepath.Base(at), rest)
		at = parent
	}
}

package truepath

import (
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// open takes a handle that allows looking only (O_PATH): no device is touched,
// no pipe waits.
func open(path string, follow bool) (*File, error) {
	flags := unix.O_PATH | unix.O_CLOEXEC
	if !follow {
		flags |= unix.O_NOFOLLOW
	}
	fd, err := unix.Open(path, flags, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	f := &File{handle: os.NewFile(uintptr(fd), path)}
	if err := f.look(); err != nil {
		_ = f.handle.Close()
		return nil, err
	}
	return f, nil
}

func (f *File) look() (err error) {
	if f.Info, err = f.handle.Stat(); err != nil {
		return err
	}
	final, err := os.Readlink(f.self())
	if err != nil {
		return fmt.Errorf("true path: %w", err)
	}
	// The kernel marks the name of a file that was removed meanwhile; the
	// name without the mark is what it was protected by.
	f.Final = []string{final}
	if plain, deleted := strings.CutSuffix(final, " (deleted)"); deleted {
		f.Final = append(f.Final, plain)
	}
	return nil
}

// self is the handle as a path: opening it opens the same file again.
func (f *File) self() string { return "/proc/self/fd/" + strconv.Itoa(int(f.handle.Fd())) }

func (f *File) reopen() (*os.File, error) { return os.Open(f.self()) }

func long(path string) string { return path }

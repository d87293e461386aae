package truepath

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// open looks at the kind first, because macOS has no handle for looking only,
// and never waits for a pipe that is put there in between.
func open(path string, follow bool) (*File, error) {
	stat, flags := os.Stat, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK
	if !follow {
		stat, flags = os.Lstat, flags|unix.O_NOFOLLOW
	}
	info, err := stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() && !info.IsDir() {
		return nil, ErrKind
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
	buf := make([]byte, unix.PathMax)
	_, _, errno := syscall.Syscall(syscall.SYS_FCNTL, f.handle.Fd(), unix.F_GETPATH, uintptr(unsafe.Pointer(&buf[0])))
	if errno != 0 {
		return fmt.Errorf("true path: %w", errno)
	}
	name, _, _ := bytes.Cut(buf, []byte{0})
	f.Final = []string{string(name)}
	return nil
}

// reopen duplicates the handle: the same file, at its beginning.
func (f *File) reopen() (*os.File, error) {
	fd, err := unix.FcntlInt(f.handle.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.handle.Name()), nil
}

func long(path string) string { return path }

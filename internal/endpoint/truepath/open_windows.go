package truepath

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// open takes a read handle, for folders too. Opening has no effect on the
// files of a disk; what is no disk file is refused.
func open(path string, follow bool) (*File, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	flags := uint32(windows.FILE_FLAG_BACKUP_SEMANTICS)
	if !follow {
		flags |= windows.FILE_FLAG_OPEN_REPARSE_POINT
	}
	const share = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	h, err := windows.CreateFile(name, windows.GENERIC_READ, share, nil, windows.OPEN_EXISTING, flags, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	if kind, err := windows.GetFileType(h); err != nil || kind != windows.FILE_TYPE_DISK {
		_ = windows.CloseHandle(h)
		return nil, ErrKind
	}
	f := &File{handle: os.NewFile(uintptr(h), path)}
	if err := f.look(h); err != nil {
		_ = f.handle.Close()
		return nil, err
	}
	return f, nil
}

func (f *File) look(h windows.Handle) (err error) {
	if f.Info, err = f.handle.Stat(); err != nil {
		return err
	}
	// The drive form and the volume form: a volume may have no letter.
	for _, form := range []uint32{0x0, 0x2} {
		if name, err := finalPath(h, form); err == nil {
			f.Final = append(f.Final, name)
		}
	}
	if len(f.Final) == 0 {
		return errors.New("the system does not tell where the file is")
	}
	return nil
}

func finalPath(h windows.Handle, form uint32) (string, error) {
	for size := uint32(512); ; {
		buf := make([]uint16, size)
		n, err := windows.GetFinalPathNameByHandle(h, &buf[0], size, form)
		if err != nil {
			return "", fmt.Errorf("true path: %w", err)
		}
		if n < size {
			return windows.UTF16ToString(buf[:n]), nil
		}
		size = n + 1
	}
}

// reopen duplicates the handle: the same file, at its beginning.
func (f *File) reopen() (*os.File, error) {
	var h windows.Handle
	self := windows.CurrentProcess()
	err := windows.DuplicateHandle(self, windows.Handle(f.handle.Fd()), self, &h, 0, false, windows.DUPLICATE_SAME_ACCESS)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(h), f.handle.Name()), nil
}

// long expands the 8.3 names of an existing path.
func long(path string) string {
	short, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return path
	}
	buf := make([]uint16, windows.MAX_LONG_PATH)
	n, err := windows.GetLongPathName(short, &buf[0], uint32(len(buf)))
	if err != nil || n == 0 || int(n) > len(buf) {
		return path
	}
	return windows.UTF16ToString(buf[:n])
}

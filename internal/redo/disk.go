package redo

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// fileNames are the log's two files. Nothing else in the folder is touched.
var fileNames = [2]string{"relay-a.redo", "relay-b.redo"}

// disk is what the log needs of a file. Tests put failing ones, and ones that lose
// power, in its place.
type disk interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Size() (int64, error)
	Flush() error // what was written is durable
	Sync() error  // and so are size and blocks of a file that grew
}

// folder is where the two files are.
type folder interface {
	Open(name string) (disk, error) // made if missing
	Sync() error                    // files that were made stay
}

type osDisk struct{ *os.File }

func (d osDisk) Flush() error { return flush(d.File) }

func (d osDisk) Size() (int64, error) {
	info, err := d.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

type osFolder string

func (f osFolder) Open(name string) (disk, error) {
	file, err := os.OpenFile(filepath.Join(string(f), name), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	return osDisk{file}, nil
}

// Sync flushes the folder itself. Not every system can, Windows for one; there it has
// to do that the files were flushed.
func (f osFolder) Sync() error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(string(f))
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, fs.ErrInvalid) && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}

// Remove deletes the log of a folder, durably; a missing file is no error. The log
// must be closed.
func Remove(dir string) error {
	for _, name := range fileNames {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return osFolder(dir).Sync()
}

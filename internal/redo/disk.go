package redo

import (
	"io"
	"os"
	"path/filepath"

	"parley/internal/durable"
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

// Sync flushes the folder itself.
func (f osFolder) Sync() error { return durable.Folder(string(f)) }

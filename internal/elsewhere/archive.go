package elsewhere

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"strings"
)

// ErrArchive says that an archive is none, or one that is made to do harm.
var ErrArchive = errors.New("this archive cannot be read")

// What an archive may hold. Words that people said become five to twenty times smaller; what
// becomes two hundred times smaller is made to fill a disk.
const (
	maxEntries  = 100_000
	maxUnpacked = 4 << 30
	maxRatio    = 200
	freeRoom    = 1 << 20 // small files may be as dense as they like
)

// Entry is one file of an archive that may hold conversations. Its name is for people only:
// nothing is ever written to it.
type Entry struct {
	Name string
	file *zip.File
	left *int64
}

// IsArchive reports whether a file begins like a ZIP archive.
func IsArchive(r io.ReaderAt) bool {
	var head [4]byte
	n, _ := r.ReadAt(head[:], 0)
	return n == len(head) && string(head[:]) == "PK\x03\x04"
}

// Archive gives the files of an export as it was downloaded that may hold conversations. Archives
// inside of archives are left alone.
func Archive(r io.ReaderAt, size int64) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		z, err := zip.NewReader(r, size)
		switch {
		case err != nil && !errors.Is(err, zip.ErrInsecurePath): // its names are followed nowhere
			yield(Entry{}, fmt.Errorf("%w: %w", ErrArchive, err))
			return
		case len(z.File) > maxEntries:
			yield(Entry{}, fmt.Errorf("%w: it has more than %d files", ErrArchive, maxEntries))
			return
		}
		left := int64(maxUnpacked)
		for _, f := range z.File {
			if !mayHold(f) {
				continue
			}
			if !yield(Entry{Name: f.Name, file: f, left: &left}, nil) {
				return
			}
		}
	}
}

func mayHold(f *zip.File) bool {
	return f.Mode().IsRegular() && (path.Base(f.Name) == "conversations.json" || strings.HasSuffix(f.Name, ".jsonl"))
}

// Open unpacks the file as it is read. What it says of its own size is not believed.
func (e Entry) Open() (io.ReadCloser, error) {
	const encrypted = 1
	if e.file.Flags&encrypted != 0 {
		return nil, fmt.Errorf("%w: %q is encrypted", ErrArchive, e.Name)
	}
	r, err := e.file.Open()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrArchive, err)
	}
	packed := min(e.file.CompressedSize64, maxUnpacked)
	return &unpacking{ReadCloser: r, left: e.left, own: int64(packed)*maxRatio + freeRoom}, nil
}

// unpacking ends what grows beyond all reason.
type unpacking struct {
	io.ReadCloser
	left *int64 // of the whole archive
	own  int64  // of this file
}

// Read implements io.Reader.
func (u *unpacking) Read(p []byte) (int, error) {
	n, err := u.ReadCloser.Read(p)
	u.own -= int64(n)
	*u.left -= int64(n)
	if u.own < 0 || *u.left < 0 {
		return 0, fmt.Errorf("%w: it unpacks to far more than conversations do", ErrArchive)
	}
	return n, err
}

package upgrade

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// maxUnpacked bounds what an archive may become.
const maxUnpacked = 4 << 30

// unpack writes the files below one folder of an archive: plain files and folders, nothing
// that leads elsewhere.
func unpack(archive, below, to string) error {
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // only read
	plain, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	left := int64(maxUnpacked)
	for r := tar.NewReader(plain); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name, ok := strings.CutPrefix(strings.TrimSuffix(head.Name, "/")+"/", below+"/")
		name = strings.TrimSuffix(name, "/")
		if !ok || name != "" && !filepath.IsLocal(filepath.FromSlash(name)) {
			return fmt.Errorf("%q leads elsewhere", head.Name)
		}
		if left -= head.Size; left < 0 {
			return errors.New("it is too large")
		}
		if err := writeEntry(filepath.Join(to, filepath.FromSlash(name)), head, r); err != nil {
			return err
		}
	}
}

func writeEntry(path string, head *tar.Header, body io.Reader) error {
	switch head.Typeflag {
	case tar.TypeDir:
		return os.MkdirAll(path, 0o755) //nolint:gosec // programs are for everybody
	case tar.TypeReg:
		return writeFile(path, os.FileMode(head.Mode)&0o755, body) //nolint:gosec // cut to nine bits
	}
	return fmt.Errorf("%q is neither a file nor a folder", head.Name)
}

func writeFile(path string, mode os.FileMode, body io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // programs are for everybody
		return err
	}
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, body)
	return errors.Join(err, out.Sync(), out.Close())
}

// aside is the database of SQLite as it was before; with PostgreSQL there is none.
type aside struct{ data, copy string }

var databaseFiles = []string{"parley.db", "parley.db-wal", "parley.db-shm"}

// putAside copies the database of a hub that does not run.
func putAside(data string) (aside, error) {
	a := aside{data: data, copy: filepath.Join(data, "before-upgrade")}
	if err := a.remove(); err != nil {
		return a, err
	}
	return a, copyFiles(data, a.copy)
}

// back puts the database where it was; nothing of what the newer program made of it stays.
func (a aside) back() error {
	if _, err := os.Stat(filepath.Join(a.copy, databaseFiles[0])); err != nil {
		return nil // PostgreSQL
	}
	for _, name := range databaseFiles {
		if err := os.Remove(filepath.Join(a.data, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return copyFiles(a.copy, a.data)
}

func (a aside) remove() error { return os.RemoveAll(a.copy) }

// copyFiles copies the files of a database, for the one user who owns them.
func copyFiles(from, to string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	owner, err := os.Stat(from)
	if err != nil {
		return err
	}
	if err := keepOwner(to, owner); err != nil {
		return err
	}
	for _, name := range databaseFiles {
		in, err := os.Open(filepath.Join(from, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		path := filepath.Join(to, name)
		err = errors.Join(writeFile(path, 0o600, in), in.Close())
		if err == nil {
			err = keepOwner(path, owner)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

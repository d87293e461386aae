package update

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// move renames; from another file system it copies beside the goal first, so
// that the last step is a rename still.
func move(from, to string) error {
	if err := os.Rename(from, to); err == nil {
		return nil
	}
	tmp := filepath.Join(filepath.Dir(to), ".new-"+filepath.Base(to))
	if err := CopyFile(from, tmp); err != nil {
		_ = os.Remove(tmp)
		return err
	}
	if err := os.Rename(tmp, to); err != nil {
		_ = os.Remove(tmp)
		return err
	}
	return os.Remove(from)
}

// CopyFile copies a program and has it on disk.
func CopyFile(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755) //nolint:gosec // it is a program
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Sync(), dst.Close())
}

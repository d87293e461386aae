package release

import (
	"archive/zip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Zip packs folder/name into folder/name.zip: in order of names, with one time (Unix
// seconds) for all, so that the same files make the same bytes.
func Zip(folder, name, seconds string) error {
	at, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return err
	}
	out, err := os.Create(filepath.Join(folder, name+".zip"))
	if err != nil {
		return err
	}
	z := zip.NewWriter(out)
	err = filepath.WalkDir(filepath.Join(folder, name), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return zipFile(z, folder, path, time.Unix(at, 0).UTC())
	})
	return errors.Join(err, z.Close(), out.Close())
}

func zipFile(z *zip.Writer, folder, path string, at time.Time) error {
	name, err := filepath.Rel(folder, path)
	if err != nil {
		return err
	}
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	header := &zip.FileHeader{Name: filepath.ToSlash(name), Method: zip.Deflate, Modified: at}
	header.SetMode(0o755)
	w, err := z.CreateHeader(header)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, in)
	return err
}

// Package durable makes files outlive a loss of power: what was written is on the
// disk when a function here returns nil.
//
// A file that was made, or renamed into place, needs two flushes: its own, and that
// of the folder that names it.
//
//	err = durable.Write(path, data, 0o600)
package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Write replaces a file in one step: whoever reads it sees the old one or the new.
func Write(path string, data []byte, mode fs.FileMode) error {
	return beside(path, data, mode, os.Rename)
}

// Create is Write for a file that must not be there: of two that come at once the
// second gets os.ErrExist.
func Create(path string, data []byte, mode fs.FileMode) error {
	return beside(path, data, mode, os.Link)
}

// beside writes a file beside path and lets put bring it there.
func beside(path string, data []byte, mode fs.FileMode, put func(from, to string) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // renamed away when all is well
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := put(f.Name(), path); err != nil {
		return err
	}
	return Folder(filepath.Dir(path))
}

// File flushes a file.
func File(path string) error {
	// Windows flushes only what was opened for writing.
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Folder flushes a folder: files that were made, renamed or removed in it stay so.
// Not every system can, Windows for one; there it has to do that the files were
// flushed.
func Folder(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	if err := d.Sync(); err != nil && !errors.Is(err, fs.ErrInvalid) && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}

// Tree flushes a folder with everything below it.
func Tree(path string) error {
	return filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return Folder(name)
		case entry.Type().IsRegular():
			return File(name)
		}
		return nil
	})
}

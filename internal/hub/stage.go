package hub

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"parley.internal/internal/durable"
)

// Names a restore uses while it is under way.
const (
	stageName = ".restoring"
	// A folder of this name in the data folder is a complete restore on its way in.
	stagedName = ".restored"
)

// stage is where a restore is put together: beside the data folder it makes, or, if
// that one is there already (an empty volume, say), inside of it.
type stage struct {
	target, dir Folder
	inside      bool
	unlock      func()
	// placed says that nothing is left to discard.
	placed bool
}

func openStage(target Folder) (*stage, error) {
	target = Folder(filepath.Clean(string(target)))
	s := &stage{target: target, dir: target + stageName}
	_, err := os.Stat(string(target))
	switch {
	case err == nil:
		s.inside, s.dir = true, Folder(target.Path(stageName))
		err = s.lockTarget()
	case errors.Is(err, os.ErrNotExist):
		err = s.lockBeside()
	}
	if err != nil {
		return nil, err
	}
	// One that was killed may have left something.
	if err := clearFolder(s.dir, lockFile); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *stage) lockBeside() error {
	if err := os.MkdirAll(string(s.dir), 0o700); err != nil {
		return fmt.Errorf("the data folder %s cannot be made: %w", s.target, unwrapPath(err))
	}
	unlock, err := s.dir.lock()
	if err != nil {
		return fmt.Errorf("another restore into %s is under way", s.target)
	}
	s.unlock = sync.OnceFunc(unlock)
	return nil
}

// lockTarget takes an existing folder that has nothing in it.
func (s *stage) lockTarget() error {
	if err := s.target.checkRights(); err != nil {
		return err
	}
	unlock, err := s.target.lock()
	if err != nil {
		return err
	}
	err = s.checkEmpty()
	if err == nil {
		err = os.MkdirAll(string(s.dir), 0o700)
	}
	if err != nil {
		unlock()
		return err
	}
	s.unlock = sync.OnceFunc(unlock)
	return nil
}

// checkEmpty refuses a folder that has something in it. What a restore brought that
// was cut off while it moved in counts as nothing: the folder was empty before it.
func (s *stage) checkEmpty() error {
	if _, err := os.Stat(s.target.Path(stagedName)); err == nil {
		return clearFolder(s.target, lockFile, "lost+found")
	}
	if _, err := os.Stat(s.target.Path(hubKeyFile)); err == nil {
		return fmt.Errorf("the data folder %s holds a hub already: restore into a new one with --data", s.target)
	}
	entries, err := os.ReadDir(string(s.target))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !slices.Contains([]string{lockFile, stageName, "lost+found"}, entry.Name()) {
			return fmt.Errorf("the data folder %s is not empty (%s): restore into a new one with --data", s.target, entry.Name())
		}
	}
	return nil
}

func clearFolder(folder Folder, keep ...string) error {
	entries, err := os.ReadDir(string(folder))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !slices.Contains(keep, entry.Name()) {
			if err := os.RemoveAll(folder.Path(entry.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// commit moves what was put together, and flushed, into place.
func (s *stage) commit() error {
	if s.inside {
		if err := os.Rename(string(s.dir), s.target.Path(stagedName)); err != nil {
			return err
		}
		s.placed = true
		return s.target.finishRestore()
	}
	s.unlock() // some systems rename no folder with an open file in it
	_ = os.Remove(s.dir.Path(lockFile))
	if err := os.Rename(string(s.dir), string(s.target)); err != nil {
		return err
	}
	s.placed = true
	return durable.Folder(filepath.Dir(string(s.target)))
}

// close lets go of the lock, and removes what was not moved into place.
func (s *stage) close() {
	if !s.placed {
		_ = os.RemoveAll(string(s.dir))
		if s.inside {
			_ = os.Remove(s.target.Path(lockFile))
		}
	}
	s.unlock()
	if !s.placed { // some systems remove no open file
		_ = os.RemoveAll(string(s.dir))
	}
}

// finishRestore moves a complete restore from its folder inside the data folder into
// place. A hub that starts does the same, should the restore have been killed
// meanwhile. Whoever calls it holds the folder's lock.
func (f Folder) finishRestore() error {
	from := Folder(f.Path(stagedName))
	entries, err := os.ReadDir(string(from))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := durable.Folder(string(f)); err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.IsDir() { // a hub that starts has made some, and nothing is in them yet
			_ = os.Remove(f.Path(entry.Name()))
		}
		if err := os.Rename(from.Path(entry.Name()), f.Path(entry.Name())); err != nil {
			return fmt.Errorf("restoring %s: %w", entry.Name(), unwrapPath(err))
		}
	}
	return errors.Join(durable.Folder(string(f)), os.Remove(string(from)))
}

package hub

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"parley.internal/internal/durable"
)

// Folder is the data folder. Everything a hub keeps is below it.
type Folder string

// Files in the data folder.
const (
	ownerTokenFile = "owner.token"
	hubFile        = "hub.json"
	socketFile     = "parley.sock"
	hubKeyFile     = "keys/hub.key"
	databaseFile   = "parley.db"
	lockFile       = "parley.lock"
	agentsFolder   = "agents"
	foreignFolder  = "foreign"
)

// Path names a file in the folder.
func (f Folder) Path(name string) string { return filepath.Join(string(f), filepath.FromSlash(name)) }

// Make creates the folder, for its owner only, and proves that it can be
// written. A folder that others may enter is refused rather than changed: it
// may be somebody's on purpose.
func (f Folder) Make() error {
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return fmt.Errorf("the data folder %s cannot be made: %w", f, unwrapPath(err))
	}
	if err := f.checkRights(); err != nil {
		return err
	}
	probe, err := os.CreateTemp(string(f), ".probe-*")
	if err != nil {
		return fmt.Errorf("the data folder %s cannot be written: %w", f, unwrapPath(err))
	}
	_ = probe.Close()
	if err := os.Remove(probe.Name()); err != nil {
		return err
	}
	return os.MkdirAll(f.Path("keys"), 0o700)
}

func (f Folder) checkRights() error {
	info, err := os.Stat(string(f))
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("the data folder %s is not a folder", f)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("the data folder %s is open to others (mode %04o): run 'chmod 700 %s'", f, info.Mode().Perm(), f)
	}
	return nil
}

// unwrapPath drops the file name from a system error; the message has it already.
func unwrapPath(err error) error {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		return path.Err
	}
	return err
}

// WriteSecret writes a file that only its owner may read, in one step: nobody
// ever sees half of it.
func (f Folder) WriteSecret(name string, data []byte) error {
	return durable.Write(f.Path(name), data, 0o600)
}

// lockSoon waits a moment for the lock: a command that only looks whether a hub runs holds
// it for the blink of an eye, and no hub may fail to start because of that.
func (f Folder) lockSoon() (unlock func(), err error) {
	for range 20 {
		if unlock, err = f.lock(); err == nil {
			return unlock, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return f.lock()
}

// sweep removes what a backup or restore left that was killed. Whoever calls it
// holds the folder's lock.
func (f Folder) sweep() {
	for _, pattern := range []string{stageName, ".dump-*", ".probe-*", ".new-*", "keys/.new-*"} {
		left, err := filepath.Glob(f.Path(pattern))
		if err != nil {
			continue
		}
		for _, path := range left {
			_ = os.RemoveAll(path)
		}
	}
}

// Running says where the hub that uses this folder can be reached.
type Running struct {
	URL   string `json:"url"`
	PID   int    `json:"pid"`
	HubID string `json:"hub_id"`
}

// Announce writes the note that lets commands find the running hub.
func (f Folder) Announce(r Running) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return f.WriteSecret(hubFile, append(data, '\n'))
}

// Withdraw removes the note.
func (f Folder) Withdraw() { _ = os.Remove(f.Path(hubFile)) }

// Running reads the note of the hub that runs, or ran last.
func (f Folder) Running() (Running, error) {
	var r Running
	data, err := os.ReadFile(f.Path(hubFile))
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(data, &r)
}

// OwnerToken reads the owner's token.
func (f Folder) OwnerToken() (string, error) {
	data, err := os.ReadFile(f.Path(ownerTokenFile))
	return string(trimSpace(data)), err
}

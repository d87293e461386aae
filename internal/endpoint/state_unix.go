//go:build unix

package endpoint

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// DefaultState is where an installed endpoint keeps its things.
func DefaultState() string {
	if runtime.GOOS == "darwin" {
		return "/Library/Application Support/Parley/Endpoint"
	}
	return "/var/lib/parley-endpoint"
}

func protectFolder(folder string) error { return os.Chmod(folder, 0o711) }

// lockFolder makes sure that one endpoint uses the folder.
func lockFolder(folder string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(folder, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, ErrRunning
		}
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}

//go:build unix

package hub

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lock keeps two hubs from one data folder. The system lets go of it when the
// process ends, however it ends.
func (f Folder) lock() (unlock func(), err error) {
	file, err := os.OpenFile(f.Path(lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		_ = file.Close()
		return nil, fmt.Errorf("another hub uses the data folder %s: stop it first, or give another --data", f)
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return func() { _ = file.Close() }, nil
}

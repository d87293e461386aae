package hub

import (
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

// lock keeps two hubs from one data folder. The system lets go of it when the
// process ends, however it ends.
func (f Folder) lock() (unlock func(), err error) {
	file, err := os.OpenFile(f.Path(lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	if err := windows.LockFileEx(windows.Handle(file.Fd()), flags, 0, 1, 0, &windows.Overlapped{}); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("another hub uses the data folder %s: stop it first, or give another --data", f)
	}
	return func() { _ = file.Close() }, nil
}

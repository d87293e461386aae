package endpoint

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// DefaultState is where an installed endpoint keeps its things.
func DefaultState() string {
	return filepath.Join(os.Getenv("ProgramData"), "Parley", "Endpoint")
}

// folderAccess: the system, administrators and whoever runs us, nobody else;
// nothing is inherited from above.
const folderAccess = "D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;FA;;;OW)"

func protectFolder(folder string) error {
	sd, err := windows.SecurityDescriptorFromString(folderAccess)
	if err != nil {
		return err
	}
	dacl, _, err := sd.DACL()
	if err != nil {
		return err
	}
	return windows.SetNamedSecurityInfo(folder, windows.SE_FILE_OBJECT,
		windows.DACL_SECURITY_INFORMATION|windows.PROTECTED_DACL_SECURITY_INFORMATION, nil, nil, dacl, nil)
}

// lockFolder makes sure that one endpoint uses the folder.
func lockFolder(folder string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(folder, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	if err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{}); err != nil {
		_ = f.Close()
		if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
			return nil, ErrRunning
		}
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}

package probe

import (
	"os"
	"path/filepath"
	"slices"
)

// storeWinget finds winget for a service, for which it is not on the path: it
// belongs to a store application.
func storeWinget() string {
	found, err := filepath.Glob(filepath.Join(os.Getenv("ProgramW6432"), "WindowsApps", "Microsoft.DesktopAppInstaller_*__8wekyb3d8bbwe", "winget.exe"))
	if err != nil || len(found) == 0 {
		return ""
	}
	slices.Sort(found)
	return found[len(found)-1]
}

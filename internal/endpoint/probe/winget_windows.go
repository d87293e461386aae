package probe

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// Winget finds winget. For a service it is not on the path: it belongs to a
// store application.
func Winget() (string, error) {
	if path, err := exec.LookPath("winget.exe"); err == nil {
		return path, nil
	}
	found, err := filepath.Glob(filepath.Join(os.Getenv("ProgramW6432"), "WindowsApps", "Microsoft.DesktopAppInstaller_*__8wekyb3d8bbwe", "winget.exe"))
	if err != nil || len(found) == 0 {
		return "", unsupported("winget is not installed")
	}
	slices.Sort(found)
	return found[len(found)-1], nil
}

//go:build unix

package probe

// Winget finds winget, which exists on Windows only.
func Winget() (string, error) { return "", unsupported("winget exists on Windows only") }

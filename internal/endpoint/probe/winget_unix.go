//go:build unix

package probe

// storeWinget: winget exists on Windows only.
func storeWinget() string { return "" }

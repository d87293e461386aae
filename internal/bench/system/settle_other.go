//go:build !unix

package system

// SettleDisk has nothing to do here.
func SettleDisk() {}

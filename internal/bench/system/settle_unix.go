//go:build unix

package system

import "golang.org/x/sys/unix"

// SettleDisk writes out what earlier steps left in memory, so that the flushes of
// this one do not wait for it.
func SettleDisk() { unix.Sync() }

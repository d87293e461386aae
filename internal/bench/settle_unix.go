//go:build unix

package bench

import "golang.org/x/sys/unix"

// settleDisk writes out what earlier steps left in memory, so that the flushes of
// this one do not wait for it.
func settleDisk() { unix.Sync() }

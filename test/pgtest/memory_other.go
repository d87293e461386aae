//go:build !linux

package pgtest

// Memory names a folder on a file system without a disk; here none is known.
func Memory(uint64) string { return "" }

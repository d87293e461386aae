//go:build !linux

package system

import "os"

// Flush makes what was appended durable.
func Flush(f *os.File) error { return f.Sync() }

//go:build !linux

package bench

import "os"

// flush makes what was appended durable.
func flush(f *os.File) error { return f.Sync() }

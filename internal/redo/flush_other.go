//go:build !linux

package redo

import "os"

// flush makes what was written durable.
func flush(f *os.File) error { return f.Sync() }

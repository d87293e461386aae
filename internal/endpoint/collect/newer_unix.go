//go:build linux || darwin

package collect

import (
	"os"
	"path/filepath"
	"time"
)

// newer counts files younger than a time.
func newer(pattern string, since time.Time) int {
	names, err := filepath.Glob(pattern)
	if err != nil {
		return 0
	}
	n := 0
	for _, name := range names {
		if info, err := os.Stat(name); err == nil && info.ModTime().After(since) {
			n++
		}
	}
	return n
}

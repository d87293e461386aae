//go:build unix

package tools

import (
	"strconv"
	"syscall"

	"parley.internal/internal/endpoint/truepath"
)

// volumeOf names the file system something is on.
func volumeOf(f *truepath.File) string {
	st, ok := f.Info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return strconv.FormatUint(uint64(st.Dev), 10)
}

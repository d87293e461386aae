package system

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ResidentMemory is the process's RSS; 0 where the system does not tell this way.
func ResidentMemory() int64 { return residentMemory("self", "Rss:") }

// MemoryOf is what the first process that works in a folder has for itself alone, with its
// share of what it shares; 0 if there is none.
func MemoryOf(folder string) int64 {
	all, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, at := range all {
		if to, err := os.Readlink(at); err == nil && to == folder {
			return residentMemory(filepath.Base(filepath.Dir(at)), "Pss:")
		}
	}
	return 0
}

func residentMemory(process, kind string) int64 {
	text, err := os.ReadFile("/proc/" + process + "/smaps_rollup")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		rest, ok := strings.CutPrefix(line, kind)
		if !ok {
			continue
		}
		kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
		if err != nil {
			return 0
		}
		return kb << 10
	}
	return 0
}

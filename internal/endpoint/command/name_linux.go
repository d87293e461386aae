package command

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// nameOf is what a process is called.
func nameOf(pid int) string {
	name, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "comm"))
	if err != nil {
		return "process"
	}
	return strings.TrimSpace(string(name))
}

package terminal

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// sessionOf finds the processes of a session: a shell puts its jobs into groups
// of their own, which a signal to the shell's group does not reach.
func sessionOf(leader int) []int {
	names, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil
	}
	var pids []int
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended meanwhile
		}
		// pid (comm) state ppid pgrp session …; comm may hold anything.
		fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
		if len(fields) < 4 || string(fields[3]) != strconv.Itoa(leader) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

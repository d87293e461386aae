package sandbox

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// living lists the live processes of this machine. Zombies do not count: they are dead
// and wait for their parent only.
func living() []member {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var out []member
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		line, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue // it has ended meanwhile
		}
		if m, alive := parseStat(pid, string(line)); alive {
			out = append(out, m)
		}
	}
	return out
}

// parseStat reads what follows the name, which is in parentheses and may hold
// any character, parentheses included.
func parseStat(pid int, line string) (m member, alive bool) {
	fields := strings.Fields(line[strings.LastIndexByte(line, ')')+1:])
	if len(fields) < 4 || fields[0] == "Z" || fields[0] == "X" {
		return m, false
	}
	m.pid = pid
	for i, into := range []*int{&m.parent, &m.group, &m.session} {
		var err error
		if *into, err = strconv.Atoi(fields[i+1]); err != nil {
			return m, false
		}
	}
	return m, true
}

// Carries looks for a variable that begins with prefix in the environment of a process.
func Carries(pid int, prefix string) bool {
	env, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	if err != nil {
		return false // it has ended, or is somebody else's
	}
	return bytes.HasPrefix(env, []byte(prefix)) || bytes.Contains(env, []byte("\x00"+prefix))
}

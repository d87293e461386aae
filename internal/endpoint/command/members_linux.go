package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// members lists the live processes of the tree, its root excepted. Zombies do
// not count: they are dead and wait for their parent only.
func (t *tree) members(root int) []int {
	parents := map[int]int{}
	var out []int
	for _, pid := range processes() {
		parent, group, alive := readStat(pid)
		if !alive {
			continue
		}
		parents[pid] = parent
		if pid != root && (group == root || t.marked(pid)) {
			out = append(out, pid)
		}
	}
	return append(out, descendants(parents, root)...)
}

// Belongs reports whether a process is part of any call of an endpoint.
func Belongs(pid int) bool { return carries(pid, MarkName+"=") }

func (t *tree) marked(pid int) bool { return carries(pid, t.mark) }

// carries looks for a variable that begins with prefix.
func carries(pid int, prefix string) bool {
	env, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	if err != nil {
		return false // it has ended, or is somebody else's
	}
	return bytes.HasPrefix(env, []byte(prefix)) || bytes.Contains(env, []byte("\x00"+prefix))
}

// nameOf is what a process is called.
func nameOf(pid int) string {
	name, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "comm"))
	if err != nil {
		return "process"
	}
	return strings.TrimSpace(string(name))
}

func processes() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var out []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

// readStat gives parent and process group of a live process.
func readStat(pid int) (parent, group int, alive bool) {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, 0, false
	}
	return parseStat(string(data))
}

// parseStat reads what follows the name, which is in parentheses and may hold
// any character, parentheses included.
func parseStat(line string) (parent, group int, alive bool) {
	_, rest, ok := cutLast(line, ")")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 3 {
		return 0, 0, false
	}
	parent, err1 := strconv.Atoi(fields[1])
	group, err2 := strconv.Atoi(fields[2])
	dead := fields[0] == "Z" || fields[0] == "X"
	return parent, group, err1 == nil && err2 == nil && !dead
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

//go:build unix

package sandbox

import (
	"slices"
	"syscall"
	"time"
)

// member is a live process.
type member struct{ pid, parent, group, session int }

// Members lists the live processes of a program, its first one (root) excepted: its
// session and process group, its descendants, and whoever carries its mark, a variable of
// the environment with its value. By the mark those are found that left all else behind
// by forking twice. An empty mark is none.
func Members(root int, mark string) []int {
	var pids []int
	for _, m := range members(root, mark) {
		pids = append(pids, m.pid)
	}
	return pids
}

func members(root int, mark string) []member {
	all := living()
	below := descendants(all, root)
	return slices.DeleteFunc(all, func(m member) bool {
		return m.pid == root || m.group != root && m.session != root && !below[m.pid] && (mark == "" || !Carries(m.pid, mark))
	})
}

func descendants(all []member, root int) map[int]bool {
	children := map[int][]int{}
	for _, m := range all {
		children[m.parent] = append(children[m.parent], m.pid)
	}
	below := map[int]bool{}
	for queue := children[root]; len(queue) > 0; queue = queue[1:] {
		if pid := queue[0]; !below[pid] {
			below[pid] = true
			queue = append(queue, children[pid]...)
		}
	}
	return below
}

// The hunt is bounded: a process stuck in the kernel must not hold us.
const (
	killRounds = 200
	killPause  = 5 * time.Millisecond
)

// KillMembers ends a program with everything it started, and returns when all but its
// first process are dead; that one is its parent's to wait for. A dying parent hands its
// children to init, so the list is made before anything is killed, and made again until
// it stays empty.
func KillMembers(root int, mark string) {
	for range killRounds {
		victims := Members(root, mark)
		_ = syscall.Kill(-root, syscall.SIGKILL)
		if len(victims) == 0 {
			return
		}
		signalAll(victims, syscall.SIGKILL)
		time.Sleep(killPause) // dying takes the kernel a moment
	}
}

func signalAll(pids []int, s syscall.Signal) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, s) // it may be gone already
	}
}

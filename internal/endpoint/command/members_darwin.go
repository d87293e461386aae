package command

import (
	"bytes"

	"golang.org/x/sys/unix"
)

// stateZombie is SZOMB of sys/proc.h.
const stateZombie = 5

// members lists the live processes of the tree, its root excepted.
func (t *tree) members(root int) []int {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil
	}
	parents := map[int]int{}
	var out []int
	for i := range all {
		pid, p := int(all[i].Proc.P_pid), &all[i]
		if p.Proc.P_stat == stateZombie {
			continue
		}
		parents[pid] = int(p.Eproc.Ppid)
		if pid != root && int(p.Eproc.Pgid) == root {
			out = append(out, pid)
		}
	}
	return append(out, descendants(parents, root)...)
}

// Belongs reports whether a process is part of any call of an endpoint: its
// environment follows its arguments in what the kernel shows of it.
func Belongs(pid int) bool {
	raw, err := unix.SysctlRaw("kern.procargs2", pid)
	return err == nil && bytes.Contains(raw, []byte("\x00"+MarkName+"="))
}

// nameOf is what a process is called.
func nameOf(pid int) string {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return "process"
	}
	return unix.ByteSliceToString(p.Proc.P_comm[:])
}

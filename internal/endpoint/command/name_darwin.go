package command

import "golang.org/x/sys/unix"

// nameOf is what a process is called.
func nameOf(pid int) string {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return "process"
	}
	return unix.ByteSliceToString(p.Proc.P_comm[:])
}

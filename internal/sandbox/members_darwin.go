package sandbox

import (
	"bytes"

	"golang.org/x/sys/unix"
)

// stateZombie is SZOMB of sys/proc.h.
const stateZombie = 5

// living lists the live processes of this machine. The kernel does not say here which
// session one is in: its group has to do.
func living() []member {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil
	}
	var out []member
	for i := range all {
		if p := &all[i]; p.Proc.P_stat != stateZombie {
			out = append(out, member{pid: int(p.Proc.P_pid), parent: int(p.Eproc.Ppid), group: int(p.Eproc.Pgid), session: int(p.Eproc.Pgid)})
		}
	}
	return out
}

// Carries looks for a variable that begins with prefix in the environment of a process,
// which follows its arguments in what the kernel shows of it.
func Carries(pid int, prefix string) bool {
	raw, err := unix.SysctlRaw("kern.procargs2", pid)
	return err == nil && bytes.Contains(raw, []byte("\x00"+prefix))
}

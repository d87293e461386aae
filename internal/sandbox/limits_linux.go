package sandbox

import "golang.org/x/sys/unix"

// limited is one limit as the kernel has it.
type limited struct {
	resource int
	most     uint64
}

// list is the limits that hold in a box. Processes are counted for each user of each user
// namespace: without one of its own a box would be counted together with everything that
// this user runs.
func (l Limits) list(s Support) []limited {
	processes := uint64(0)
	if s.Isolation != Rules && l.Processes > 0 {
		processes = uint64(l.Processes)
	}
	all := []limited{
		{unix.RLIMIT_NPROC, processes},
		{unix.RLIMIT_DATA, uint64(max(l.Memory, 0))},
		{unix.RLIMIT_FSIZE, uint64(max(l.FileSize, 0))},
		{unix.RLIMIT_NOFILE, uint64(max(l.OpenFiles, 0))},
		{unix.RLIMIT_CPU, uint64(max(l.CPU, 0))},
	}
	var set []limited
	for _, one := range all {
		if one.most > 0 {
			set = append(set, one)
		}
	}
	return set
}

package sandbox

import (
	"os/exec"
	"syscall"
)

// Of capabilities(7): what making a box needs, in its own user namespace.
const (
	capDacOverride = 1
	capSetPCap     = 8
	capNetAdmin    = 12
	capSysAdmin    = 21
)

// Namespaces of each level.
const (
	networkSpaces = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC
	fullSpaces    = networkSpaces | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS | newCgroup
	newCgroup     = 0x02000000
)

// isolate has a command start in namespaces of its own, as the user the hub is or as the
// one that programs run as.
func (s Support) isolate(cmd *exec.Cmd) {
	if s.Isolation == Rules {
		return
	}
	uid, gid := syscall.Getuid(), syscall.Getgid()
	a := cmd.SysProcAttr
	if s.User != 0 {
		uid, gid = s.User, s.Group
		a.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		a.GidMappingsEnableSetgroups = true // to be in none of root's groups
	}
	a.Cloneflags = networkSpaces
	if s.Isolation == Full {
		a.Cloneflags = fullSpaces
	}
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	a.AmbientCaps = []uintptr{capDacOverride, capSetPCap, capNetAdmin, capSysAdmin}
}

package sandbox

import (
	"fmt"
	"os"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

func version() (int, error) {
	n, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// access is a set of what can be done with files.
type access uint64

// What programs may do with what they were given. Devices are never made: as root,
// one made in the workspace would be the disk itself.
const (
	readFile  access = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE
	readDir   access = readFile | unix.LANDLOCK_ACCESS_FS_READ_DIR
	writeFile access = readFile | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	writeDir  access = writeFile | readDir | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER
	device access = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// devices are those every program may use. Terminals by name are not among them: a
// program has its own already.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx"}

// confined is all that a version of Landlock can forbid. Everything of it is forbidden
// that no rule allows.
func confined(version int) unix.LandlockRulesetAttr {
	// How many kinds of access to files each version knows, from 1 on.
	kinds := []int{13, 14, 15, 15, 16, 16, 16, 16, 17}
	a := unix.LandlockRulesetAttr{Handled_access_fs: 1<<kinds[min(version, len(kinds))-1] - 1}
	if version >= signalsScoped {
		a.Scoped = unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	return a
}

// rules are the orders as the kernel has them: an open file that the launcher takes
// upon itself.
func (o orders) rules() (*os.File, error) {
	version, err := version()
	if err != nil || version < 1 {
		return nil, fmt.Errorf("this kernel has no Landlock: %w", err)
	}
	attr := confined(version)
	if o.SharesNetwork && version >= portsKnown {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return nil, fmt.Errorf("the rules of a box cannot be made: %w", errno)
	}
	file := os.NewFile(fd, "rules of a box")
	handled := access(attr.Handled_access_fs)
	for _, part := range []struct {
		paths     []string
		file, dir access
	}{{o.Read, readFile, readDir}, {o.Write, writeFile, writeDir}, {devices, device, 0}} {
		for _, path := range part.paths {
			if err := allow(int(fd), path, slices.Contains(o.Exact, path), part.file&handled, part.dir&handled); err != nil {
				_ = file.Close()
				return nil, fmt.Errorf("a box with %s cannot be made: %w", path, err)
			}
		}
	}
	if o.Port != 0 && attr.Handled_access_net != 0 {
		if err := allowPort(int(fd), o.Port); err != nil {
			_ = file.Close()
			return nil, fmt.Errorf("a box with a way out cannot be made: %w", err)
		}
	}
	return file, nil
}

// allowPort adds a rule for connecting to a port.
func allowPort(rules, port int) error {
	attr := struct{ access, port uint64 }{unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, uint64(port)}
	const netPort = 2
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules), netPort, uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// allow adds a rule. What is not there, or cannot be got at, needs none. On the way to an
// exact path no link is followed: whoever put one there since would lead the box elsewhere.
func allow(rules int, path string, exact bool, file, dir access) error {
	open := func() (int, error) { return unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0) }
	if exact {
		how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
		open = func() (int, error) { return unix.Openat2(unix.AT_FDCWD, path, &how) }
	}
	fd, err := open()
	if err != nil {
		return nil //nolint:nilerr // nobody inside could reach it either
	}
	defer func() { _ = unix.Close(fd) }()
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		return err
	}
	rights := file
	if info.Mode&unix.S_IFMT == unix.S_IFDIR {
		rights = dir
	}
	if rights == 0 {
		return nil
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: uint64(rights), Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

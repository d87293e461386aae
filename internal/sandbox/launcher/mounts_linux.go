package launcher

import (
	"syscall"
	"unsafe"
)

// Of mount(2), mount_setattr(2), move_mount(2) and landlock_add_rule(2), what package syscall does not have.
const (
	sysMoveMount    = 429
	sysMountSetattr = 442
	sysAddRule      = 445
	atFdCwd         = ^uintptr(99) // -100
	atRecursive     = 0x8000
	attrReadOnly    = 1
	attrNoSuid      = 2
	fromOpenFile    = 4 // the mount is the open file itself
	openPath        = 0x200000
	pathBeneath     = 1
	detach          = 2
)

// newRoot makes an empty root. Nothing that is mounted from now on is seen outside.
func (b *box) newRoot(at string) syscall.Errno {
	var name [64]byte
	if n, err := syscall.Readlink("/proc/self/fd/0", name[:]); err == nil {
		b.terminal = string(name[:n])
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return errno(err)
	}
	if err := syscall.Mount("box", at, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, "mode=0755,size=1m"); err != nil {
		return errno(err)
	}
	if err := syscall.Mkdir(at+OldRoot, 0o700); err != nil {
		return errno(err)
	}
	if err := syscall.PivotRoot(at, at+OldRoot); err != nil {
		return errno(err)
	}
	return errno(syscall.Chdir("/"))
}

// show binds a file or folder to a path of the new root. What is not there needs no place.
func show(from, at string) syscall.Errno {
	var info syscall.Stat_t
	if err := syscall.Stat(from, &info); err != nil {
		return 0 // nobody inside could reach it either
	}
	if err := target(at, info.Mode&syscall.S_IFMT == syscall.S_IFDIR); err != 0 {
		return err
	}
	return errno(syscall.Mount(from, at, "", syscall.MS_BIND|syscall.MS_REC, ""))
}

// place moves a mount that the hub has made to a path.
func place(fd, at string) syscall.Errno {
	n, err := number(fd)
	if err != 0 {
		return err
	}
	var info syscall.Stat_t
	if err := syscall.Fstat(int(n), &info); err != nil {
		return errno(err)
	}
	if err := target(at, info.Mode&syscall.S_IFMT == syscall.S_IFDIR); err != 0 {
		return err
	}
	empty, path := []byte{0}, append([]byte(at), 0)
	_, _, err = syscall.Syscall6(sysMoveMount, uintptr(n), uintptr(unsafe.Pointer(&empty[0])), atFdCwd, uintptr(unsafe.Pointer(&path[0])), fromOpenFile, 0)
	if err != 0 {
		return err
	}
	return errno(syscall.Close(int(n)))
}

// target makes the folder or empty file that something is shown at.
func target(at string, folder bool) syscall.Errno {
	if folder {
		return folders(at)
	}
	if err := folders(parent(at)); err != 0 {
		return err
	}
	fd, err := syscall.Open(at, syscall.O_CREAT|syscall.O_RDONLY|syscall.O_CLOEXEC|syscall.O_NONBLOCK, 0o644)
	if err == syscall.EACCES || err == syscall.ENXIO {
		return 0 // it is there
	}
	if err != nil {
		return errno(err)
	}
	return errno(syscall.Close(fd))
}

// folders makes a folder and those above it, as far as they are missing.
func folders(path string) syscall.Errno {
	var info syscall.Stat_t
	if path == "" || path == "/" || syscall.Stat(path, &info) == nil {
		return 0
	}
	if err := folders(parent(path)); err != 0 {
		return err
	}
	if err := syscall.Mkdir(path, 0o755); err != nil && err != syscall.EEXIST {
		return errno(err)
	}
	return 0
}

func parent(path string) string {
	for i := len(path) - 1; i > 0; i-- {
		if path[i] == '/' {
			return path[:i]
		}
	}
	return "/"
}

// link makes a symbolic link. It is a convenience: where something is already, or nothing can be
// made, the program does without.
func link(at, to string) syscall.Errno {
	if folders(parent(at)) == 0 {
		_ = syscall.Symlink(to, at)
	}
	return 0
}

// showTerminal shows the program's own terminal by its name, and no other one.
func (b *box) showTerminal() syscall.Errno {
	const terminals = "/dev/pts/"
	if len(b.terminal) <= len(terminals) || b.terminal[:len(terminals)] != terminals {
		return 0
	}
	return show(OldRoot+b.terminal, b.terminal)
}

// ownProc mounts a /proc that shows this box alone, and adds it to the rules, which were
// written before it existed.
func ownProc(rights string) syscall.Errno {
	if err := folders("/proc"); err != 0 {
		return err
	}
	if err := syscall.Mount("proc", "/proc", "proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, ""); err != nil {
		return errno(err)
	}
	allowed, err := number(rights)
	if err != 0 {
		return err
	}
	fd, failed := syscall.Open("/proc", openPath|syscall.O_CLOEXEC, 0)
	if failed != nil {
		return errno(failed)
	}
	defer func() { _ = syscall.Close(fd) }()
	// Rights and the number of an open file, without a gap between.
	var rule [12]byte
	*(*uint64)(unsafe.Pointer(&rule[0])) = allowed
	*(*int32)(unsafe.Pointer(&rule[8])) = int32(fd)
	_, _, err = syscall.RawSyscall6(sysAddRule, Rules, pathBeneath, uintptr(unsafe.Pointer(&rule[0])), 0, 0, 0)
	return err
}

// mountAttr is the kernel's struct mount_attr.
type mountAttr struct{ set, clear, propagation, userns uint64 }

func setAttr(path string, attr mountAttr) syscall.Errno {
	name := append([]byte(path), 0)
	_, _, err := syscall.Syscall6(sysMountSetattr, atFdCwd, uintptr(unsafe.Pointer(&name[0])), atRecursive, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	return err
}

// shut takes the machine's files away and makes all that is left read-only: Landlock has no
// rule against changing modes and times.
func shut() syscall.Errno {
	if err := syscall.Unmount(OldRoot, detach); err != nil {
		return errno(err)
	}
	_ = syscall.Rmdir(OldRoot)
	return setAttr("/", mountAttr{set: attrReadOnly | attrNoSuid})
}

// writable opens one path again. What lies on a read-only disk stays as it is.
func writable(path string) syscall.Errno {
	err := setAttr(path, mountAttr{clear: attrReadOnly})
	if err == syscall.EPERM || err == syscall.ENOENT {
		return 0
	}
	return err
}

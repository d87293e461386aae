package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"box.local/launcher"
	"golang.org/x/sys/unix"
)

// A hub that is root runs programs as another user. Folders stay whose they are: the box sees
// them through a mount on which their owner's files are that user's, so nothing is
// ever given to somebody else, and what programs make belongs to the folder's owner.

// showWritable shows a folder of a program, as its own.
func (s *Sandbox) showWritable(c *script, path, at string) {
	if s.o.Support.User == 0 {
		c.order(launcher.Bind, path, at)
		return
	}
	c.showAs(path, at, s.asOwn)
}

// showAs shows what a mount makes of a path. Where its file system cannot do that, the program has the
// rights of a stranger there.
func (c *script) showAs(path, at string, mount func(string) (*os.File, error)) {
	if f, err := mount(path); err == nil {
		c.order(launcher.Place, c.give(f), at)
		return
	}
	c.order(launcher.Bind, path, at)
}

// showReadable shows what a program may read: what somebody named, as its own; of the system's
// what everybody may read. Where only root gets to the place itself, root opens it.
func (s *Sandbox) showReadable(c *script, path string, named bool) {
	switch {
	case s.o.Support.User == 0:
		c.order(launcher.Bind, path, path)
	case named:
		c.showAs(path, path, s.asOwn)
	case enterable(filepath.Dir(path)):
		c.order(launcher.Bind, path, path)
	default:
		c.showAs(path, path, openTree)
	}
}

// openTree is a mount of a folder and all that is mounted in it.
func openTree(path string) (*os.File, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// enterable tells that everybody may go through a folder and those above it.
func enterable(dir string) bool {
	for {
		info, err := os.Stat(dir)
		if err != nil || info.Mode()&othersEnter == 0 {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
		dir = filepath.Dir(dir)
	}
}

// asOwn is a mount of a file or folder on which its owner is the user of the boxes.
func (s *Sandbox) asOwn(path string) (*os.File, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), path)
	if err := s.mapOwner(fd); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func (s *Sandbox) mapOwner(fd int) error {
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		return err
	}
	if int(info.Uid) == s.o.Support.User {
		return nil
	}
	space, err := s.userSpace(owner{info.Uid, info.Gid})
	if err != nil {
		return err
	}
	return unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_IDMAP, Userns_fd: uint64(space.Fd())})
}

// owner is whose a folder is.
type owner struct{ uid, gid uint32 }

// userSpace is a user namespace in which an owner is the user of the boxes. There are few
// owners, and the namespaces stay until the hub ends.
func (s *Sandbox) userSpace(of owner) (*os.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if space := s.spaces[of]; space != nil {
		return space, nil
	}
	space, err := borrowSpace(of, s.o.Support)
	if err != nil {
		return nil, err
	}
	if s.spaces == nil {
		s.spaces = map[owner]*os.File{}
	}
	s.spaces[of] = space
	return space, nil
}

// borrowSpace starts a process in the namespace, opens that, and lets the process go.
func borrowSpace(of owner, as Support) (*os.File, error) {
	cmd := exec.Command(ownProgram, launcher.Flag, launcher.Wait, "-")
	cmd.Env = []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: int(of.uid), HostID: as.User, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: int(of.gid), HostID: as.Group, Size: 1}},
	}
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	space, err := os.Open(fmt.Sprintf("/proc/%d/ns/user", cmd.Process.Pid))
	_ = input.Close()
	return space, errors.Join(err, cmd.Wait())
}

// checkUser tries whether the hub's own folders can be shown to another user; if not, programs run as root.
func (s *Sandbox) checkUser() {
	if s.o.Support.User == 0 || s.o.Workspace == "" {
		return
	}
	for _, dir := range []string{s.o.Workspace, s.o.Temp} {
		at := dir
		for at != "" && !exists(at) && at != filepath.Dir(at) {
			at = filepath.Dir(at) // it will be made on this file system
		}
		if at == "" {
			continue
		}
		f, err := s.asOwn(at)
		if err != nil {
			s.o.Support.User, s.o.Support.Group = 0, 0
			s.o.Support.Root = fmt.Sprintf("the file system of %s cannot show its files to another user: %v", dir, err)
			return
		}
		_ = f.Close()
	}
}

package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"os/user"
	"runtime"
	"strconv"
	"strings"

	"box.local/launcher"
	"golang.org/x/sys/unix"
)

// DefaultUser is who programs of agents run as where the hub is root.
const DefaultUser = "nobody"

// Probe finds out what boxes this system can make, by making some. name is who programs run as
// where the hub is root: a name, a number, "root" for root itself, or empty for
// [DefaultUser].
func Probe(name string) Support {
	version, err := version()
	switch {
	case errors.Is(err, unix.EOPNOTSUPP):
		return Support{Why: "this kernel was started without Landlock (add landlock to the lsm= list of its command line)"}
	case err != nil || version < 1:
		return Support{Why: "this kernel has no Landlock (Linux 5.13 or newer has)"}
	case !launcher.CanFilter():
		return Support{Why: "on " + runtime.GOARCH + " this program cannot keep others from sockets and namespaces"}
	}
	s := Support{Version: version, Isolation: Full}
	if os.Getuid() == 0 {
		s.User, s.Group, s.Root = lookUp(name)
	}
	why := s.try()
	if why != nil && s.User != 0 {
		s.Root = "no box can be made for user " + strconv.Itoa(s.User) + ": " + why.Error()
		s.User, s.Group = 0, 0
		why = s.try()
	}
	if why != nil {
		s.Isolation, s.Less = Network, why.Error()
		why = s.try()
	}
	if why != nil {
		s.Isolation, s.Less = Rules, why.Error()
	}
	return s
}

// lookUp finds the user that programs run as.
func lookUp(name string) (uid, gid int, why string) {
	if name == "" {
		name = DefaultUser
	}
	found, err := user.Lookup(name)
	if err == nil {
		uid, _ = strconv.Atoi(found.Uid)
		gid, _ = strconv.Atoi(found.Gid)
	} else if uid, err = strconv.Atoi(name); err == nil {
		gid = uid
	}
	switch {
	case err != nil || uid < 0 || gid < 0:
		return 0, 0, "there is no user " + name + " here"
	case uid == 0 || gid == 0:
		return 0, 0, "box.user is root"
	}
	return uid, gid, ""
}

// try makes a box with nothing in it.
func (s Support) try() error {
	trial := &Sandbox{o: Options{Support: s}}
	temp, err := os.MkdirTemp("", tempPrefix)
	if err != nil {
		return err
	}
	run := &Process{temp: temp}
	defer run.Close()
	if err := trial.box(run, launcher.Nothing, Program{Path: launcher.Nothing, Dir: temp}); err != nil {
		return err
	}
	out, err := run.Cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return errors.New(strings.TrimPrefix(strings.TrimSpace(string(out)), "parley: "))
	}
	return err
}

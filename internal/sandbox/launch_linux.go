package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// Probe finds out what boxes this kernel can make.
func Probe() Support {
	version, err := ll.LandlockGetABIVersion()
	switch {
	case errors.Is(err, unix.EOPNOTSUPP):
		return Support{Why: "this kernel was started without Landlock (add landlock to the lsm= list of its command line)"}
	case err != nil || version < 1:
		return Support{Why: "this kernel has no Landlock (Linux 5.13 or newer has)"}
	case version < socketsScoped && !canFilter():
		return Support{Why: "on " + runtime.GOARCH + " this kernel cannot keep programs from the sockets of others"}
	}
	return Support{Version: version}
}

// launcher is this very program, told to make a box. The path leads to the file that
// runs now, also when another version has taken its place.
func launcher(args []string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Args[0] = "parley-box"
	return cmd
}

// Launch makes this process a launcher if it was started as one, and then does not
// return. It is the first thing that main does, and TestMain where programs are boxed.
func Launch() {
	if len(os.Args) < 4 || os.Args[1] != launchFlag {
		return
	}
	err := launch(os.Args[2], os.Args[3:])
	fmt.Fprintln(os.Stderr, "parley:", err)
	code := cannotRun
	if errors.Is(err, os.ErrNotExist) {
		code = notFound
	}
	os.Exit(code)
}

// What shells exit with when they cannot run a program.
const (
	cannotRun = 126
	notFound  = 127
)

// launch shuts the box around this process and becomes the program.
func launch(text string, args []string) error {
	var o orders
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	// What is given up is given up by this thread, and it is this thread that
	// becomes the program.
	runtime.LockOSThread()
	for _, step := range []func(orders) error{noCores, dropCapabilities, restrict, filterSockets} {
		if err := step(o); err != nil {
			return fmt.Errorf("the box could not be made: %w", err)
		}
	}
	return fmt.Errorf("%s: %w", args[0], syscall.Exec(o.Path, args, slices.Clone(os.Environ())))
}

// noCores keeps a program's memory from being written down when it crashes.
func noCores(orders) error { return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}) }

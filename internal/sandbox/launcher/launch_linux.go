package launcher

import (
	"os"
	"syscall"
)

func init() {
	if len(os.Args) < 4 || os.Args[1] != Flag {
		return
	}
	if os.Args[2] == Wait {
		_, _ = syscall.Read(0, make([]byte, 1))
		os.Exit(0) //nolint:forbidigo // this process is the launcher and nothing else
	}
	code, why := launch(os.Args[2], os.Args[3:])
	if why != "" {
		_, _ = os.Stderr.WriteString("parley: " + why + "\n")
	}
	os.Exit(code) //nolint:forbidigo // this process is the launcher and nothing else
}

// What shells exit with when they cannot run a program.
const (
	cannotRun = 126
	notFound  = 127
)

// launch shuts the box around this process and becomes the program. While packages are
// initialised there is one thread that does so, and it is the one that becomes the program.
func launch(path string, args []string) (code int, why string) {
	var b box
	for _, step := range []struct {
		what string
		do   func() syscall.Errno
	}{
		{"no core dumps", noCores},
		{"its orders", b.make},
		{"its memory", hideMemory},
		{"no capabilities", dropCapabilities},
		{"no new privileges", noNewPrivileges},
		{"the rules", restrict},
		{"the filter of calls", b.filterCalls},
	} {
		if err := step.do(); err != 0 {
			return cannotRun, "the box could not be made (" + step.what + b.at + "): " + err.Error()
		}
	}
	switch {
	case path == Nothing:
		return 0, ""
	case os.Getpid() == 1:
		return stayFirst(path, args)
	}
	return failed(args[0], errno(syscall.Exec(path, args, syscall.Environ())))
}

// failed says that a program cannot be run.
func failed(name string, err syscall.Errno) (code int, why string) {
	if err == syscall.ENOENT {
		return notFound, name + ": " + err.Error()
	}
	return cannotRun, name + ": " + err.Error()
}

// make carries the orders out.
func (b *box) make() syscall.Errno {
	list, err := readOrders()
	if err != 0 {
		return err
	}
	for _, o := range list {
		if err := b.carryOut(o); err != 0 {
			b.at = ": " + o.verb + " " + o.first
			return err
		}
	}
	return 0
}

// noCores keeps a program's memory from being written down when it crashes.
func noCores() syscall.Errno {
	return errno(syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}))
}

func errno(err error) syscall.Errno {
	if err == nil {
		return 0
	}
	if e, ok := err.(syscall.Errno); ok { //nolint:errorlint // the system's own errors come bare
		return e
	}
	return syscall.EINVAL
}

// Of the kernel's interface, what package syscall does not have.
const (
	prSetDumpable   = 4
	prSetNoNewPrivs = 38
	sysCreateRules  = 444
	sysRestrictSelf = 446
	versionOfRules  = 1
)

// hideMemory keeps the program from looking into this process while it waits. The program
// itself is as any other: what it becomes decides.
func hideMemory() syscall.Errno { return prctl(prSetDumpable, 0) }

// noNewPrivileges: no set-user-ID program gains anything from here on.
func noNewPrivileges() syscall.Errno { return prctl(prSetNoNewPrivs, 1) }

func prctl(option, arg uintptr) syscall.Errno {
	_, _, err := syscall.RawSyscall6(syscall.SYS_PRCTL, option, arg, 0, 0, 0, 0)
	return err
}

// restrict takes the rules upon this thread.
func restrict() syscall.Errno {
	if _, _, err := syscall.RawSyscall(sysRestrictSelf, Rules, 0, 0); err != 0 {
		return err
	}
	return errno(syscall.Close(Rules))
}

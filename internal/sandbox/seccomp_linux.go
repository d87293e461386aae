package sandbox

import (
	"runtime"
	"unsafe"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// socketsScoped is the version of Landlock that keeps programs from the sockets of
// others, wherever they are.
const socketsScoped = 9

// audit is how the kernel calls the architectures that have one way only to make a socket.
var audit = map[string]uint32{
	"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64, "riscv64": unix.AUDIT_ARCH_RISCV64,
	"loong64": unix.AUDIT_ARCH_LOONGARCH64,
}

func canFilter() bool { return audit[runtime.GOARCH] != 0 }

// Where a system call's number, architecture and first argument stand.
const (
	atNumber = 0
	atArch   = 4
	atFirst  = 16
)

// otherABI marks the calls of x86's third way to call the kernel.
const otherABI = 0x40000000

// filterSockets forbids making Unix sockets where Landlock cannot tell whose socket is
// connected to: behind one may be a container engine, a session bus or the hub, and each of
// them would do what the box forbids. Pairs of sockets, which have no name, stay. What the
// kernel would do on behalf of a program without asking here (io_uring, another
// architecture's calls) is forbidden, too.
func filterSockets(orders) error {
	version, err := ll.LandlockGetABIVersion()
	if err != nil || version >= socketsScoped {
		return err
	}
	const refuse, allow = unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES), unix.SECCOMP_RET_ALLOW
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	// when a comparison holds go on after yes instructions, else after no
	when := func(how uint16, k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | how | unix.BPF_K, Jt: yes, Jf: no, K: k}
	}
	answer := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	program := []unix.SockFilter{
		load(atArch),
		when(unix.BPF_JEQ, audit[runtime.GOARCH], 0, 7),
		load(atNumber),
		when(unix.BPF_JGE, otherABI, 5, 0),
		when(unix.BPF_JEQ, unix.SYS_IO_URING_SETUP, 4, 0),
		when(unix.BPF_JEQ, unix.SYS_SOCKET, 0, 2),
		load(atFirst),
		when(unix.BPF_JEQ, unix.AF_UNIX, 1, 0),
		answer(allow),
		answer(refuse),
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	set := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&set)), 0, 0)
}

package launcher

import (
	"runtime"
	"syscall"
	"unsafe"
)

// numbers are an architecture's name and its call for making a socket, as the kernel has
// them; only for architectures that have one way to make one.
func numbers() (name, socket uint32) {
	switch runtime.GOARCH {
	case "amd64":
		return 0xC000003E, 41
	case "arm64":
		return 0xC00000B7, 198
	case "riscv64":
		return 0xC00000F3, 198
	case "loong64":
		return 0xC0000102, 198
	}
	return 0, 0
}

// CanFilter tells whether sockets of others can be kept away where Landlock cannot.
func CanFilter() bool {
	name, _ := numbers()
	return name != 0
}

// Of seccomp(2).
const (
	prSetSeccomp   = 22
	filterMode     = 2
	allow          = 0x7fff0000
	refuse         = 0x00050000 | uint32(syscall.EACCES)
	sysIOUring     = 425
	otherABI       = 0x40000000 // marks the calls of x86's third way to call the kernel
	numberAt       = 0
	architectureAt = 4
	firstAt        = 16
)

// filterSockets forbids making Unix sockets where Landlock cannot tell whose socket is
// connected to: behind one may be a container engine, a session bus or the hub, and each of
// them would do what the box forbids. Pairs of sockets, which have no name, stay. What the
// kernel would do for a program without asking here (io_uring, another
// architecture's calls) is forbidden, too.
func filterSockets() syscall.Errno {
	version, _, err := syscall.RawSyscall(sysCreateRules, 0, 0, versionOfRules)
	if err != 0 || version >= SocketsScoped {
		return err
	}
	architecture, socket := numbers()
	if architecture == 0 {
		return syscall.ENOSYS
	}
	load := func(at uint32) syscall.SockFilter {
		return syscall.SockFilter{Code: syscall.BPF_LD | syscall.BPF_W | syscall.BPF_ABS, K: at}
	}
	// If a comparison holds it goes on after so many instructions, else after so many others.
	when := func(how uint16, k uint32, yes, no uint8) syscall.SockFilter {
		return syscall.SockFilter{Code: syscall.BPF_JMP | how | syscall.BPF_K, Jt: yes, Jf: no, K: k}
	}
	answer := func(k uint32) syscall.SockFilter {
		return syscall.SockFilter{Code: syscall.BPF_RET | syscall.BPF_K, K: k}
	}
	program := [...]syscall.SockFilter{
		load(architectureAt),
		when(syscall.BPF_JEQ, architecture, 0, 7),
		load(numberAt),
		when(syscall.BPF_JGE, otherABI, 5, 0),
		when(syscall.BPF_JEQ, sysIOUring, 4, 0),
		when(syscall.BPF_JEQ, socket, 0, 2),
		load(firstAt),
		when(syscall.BPF_JEQ, syscall.AF_UNIX, 1, 0),
		answer(allow),
		answer(refuse),
	}
	set := syscall.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, err = syscall.RawSyscall6(syscall.SYS_PRCTL, prSetSeccomp, filterMode, uintptr(unsafe.Pointer(&set)), 0, 0, 0)
	return err
}

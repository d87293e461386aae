package launcher

import (
	"runtime"
	"syscall"
	"unsafe"
)

// calls are an architecture's name and the numbers of its calls, as the kernel has them.
type calls struct {
	architecture                             uint32
	socket, clone, sendto, sendmsg, sendmmsg uint32
	// never are calls that no program of an agent needs and that reach around the box: other
	// namespaces, keys of the hub's session, what the kernel does without asking the filter
	// (io_uring), and its own inner life.
	never []uint32
	// modes are calls that give a file its mode, by the place of that among their arguments; opens
	// do so where they make a file, and have their flags right before.
	modes, opens map[uint32]uint32
}

// Those with the same number everywhere.
const (
	callClone3    = 435
	callIOUring   = 425
	callOpenat2   = 437
	callFchmodat2 = 452
)

// numbers are only for architectures that have one way to make a socket.
func numbers() (calls, bool) {
	// unshare, setns, add_key, request_key, keyctl, bpf, perf_event_open, userfaultfd
	generic := []uint32{97, 268, 217, 218, 219, 280, 241, 282, callIOUring}
	// fchmod, fchmodat, mknodat; openat
	genericModes, genericOpens := map[uint32]uint32{52: 1, 53: 2, callFchmodat2: 2, 33: 2}, map[uint32]uint32{56: 3}
	switch runtime.GOARCH {
	case "amd64":
		return calls{
			0xC000003E, 41, 56, 44, 46, 307,
			[]uint32{272, 308, 248, 249, 250, 321, 298, 323, callIOUring},
			// chmod, fchmod, fchmodat, creat, mknod, mknodat; open, openat
			map[uint32]uint32{90: 1, 91: 1, 268: 2, callFchmodat2: 2, 85: 1, 133: 1, 259: 2},
			map[uint32]uint32{2: 2, 257: 3},
		}, true
	case "arm64":
		return calls{0xC00000B7, 198, 220, 206, 211, 269, generic, genericModes, genericOpens}, true
	case "riscv64":
		return calls{0xC00000F3, 198, 220, 206, 211, 269, generic, genericModes, genericOpens}, true
	case "loong64":
		return calls{0xC0000102, 198, 220, 206, 211, 269, generic, genericModes, genericOpens}, true
	}
	return calls{}, false
}

// CanFilter tells whether this architecture's calls are known to the filter.
func CanFilter() bool {
	_, known := numbers()
	return known
}

// Of seccomp(2).
const (
	prSetSeccomp   = 22
	filterMode     = 2
	allow          = 0x7fff0000
	refuse         = 0x00050000 | uint32(syscall.EACCES)
	unknown        = 0x00050000 | uint32(syscall.ENOSYS)
	otherABI       = 0x40000000 // marks the calls of x86's third way to call the kernel
	numberAt       = 0
	architectureAt = 4
	argumentsAt    = 16
)

// What of the arguments is looked at.
const (
	namespaces = 0x7E020000 // of clone's flags: any new namespace
	kindOfType = 0xf        // of a socket's type: without its flags
	tcp        = 6
	fastOpen   = 0x20000000 // of a send's flags: it connects, and Landlock does not see it
	setUser    = 0o4000     // of a mode: whoever runs the file becomes its owner
	makesFile  = 0x400040   // of an open's flags: O_CREAT, O_TMPFILE
)

// filter is a program of the kernel's little machine. It goes on after each part unless that
// part gives an answer.
type filter []syscall.SockFilter

func (f *filter) add(code uint16, k uint32, yes, no uint8) {
	*f = append(*f, syscall.SockFilter{Code: code, Jt: yes, Jf: no, K: k})
}

func (f *filter) load(at uint32)       { f.add(syscall.BPF_LD|syscall.BPF_W|syscall.BPF_ABS, at, 0, 0) }
func (f *filter) argument(n uint32)    { f.load(argumentsAt + 8*n) }
func (f *filter) answer(answer uint32) { f.add(syscall.BPF_RET|syscall.BPF_K, answer, 0, 0) }

// answerIf gives an answer where a comparison of what was loaded holds, answerUnless where not.
func (f *filter) answerIf(how uint16, k, answer uint32) {
	f.add(syscall.BPF_JMP|how|syscall.BPF_K, k, 0, 1)
	f.answer(answer)
}

func (f *filter) answerUnless(how uint16, k, answer uint32) {
	f.add(syscall.BPF_JMP|how|syscall.BPF_K, k, 1, 0)
	f.answer(answer)
}

// when adds what is to be looked at for one call only, and allows it then.
func (f *filter) when(call uint32, look func(*filter)) {
	var inner filter
	look(&inner)
	inner.answer(allow)
	f.add(syscall.BPF_JMP|syscall.BPF_JEQ|syscall.BPF_K, call, 0, uint8(len(inner)))
	*f = append(*f, inner...)
}

// filterCalls forbids what Landlock has no rule for. Unix sockets: behind one may be a
// container engine, a session bus or the hub, and each of them would do what the box
// forbids; where Landlock knows whose socket it is they stay, as do pairs of sockets, which have
// no name. Sockets of kinds that no namespace confines, such as those to a virtual
// machine's host. New namespaces, in which a program would be root again.
func (b *box) filterCalls() syscall.Errno {
	n, known := numbers()
	if !known {
		return syscall.ENOSYS
	}
	version, _, err := syscall.RawSyscall(sysCreateRules, 0, 0, versionOfRules)
	if err != 0 {
		return err
	}
	f := b.filter(n, version >= SocketsScoped)
	set := syscall.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	_, _, err = syscall.RawSyscall6(syscall.SYS_PRCTL, prSetSeccomp, filterMode, uintptr(unsafe.Pointer(&set)), 0, 0, 0)
	return err
}

func (b *box) filter(n calls, unixToo bool) filter {
	var f filter
	f.load(architectureAt)
	f.answerUnless(syscall.BPF_JEQ, n.architecture, refuse)
	f.load(numberAt)
	f.answerIf(syscall.BPF_JGE, otherABI, refuse)
	for _, call := range n.never {
		f.answerIf(syscall.BPF_JEQ, call, refuse)
	}
	// What these are called with cannot be seen; programs fall back to older ones.
	f.answerIf(syscall.BPF_JEQ, callClone3, unknown)
	f.answerIf(syscall.BPF_JEQ, callOpenat2, unknown)
	f.when(n.clone, func(f *filter) {
		f.argument(0)
		f.answerIf(syscall.BPF_JSET, namespaces, refuse)
	})
	f.when(n.socket, func(f *filter) { b.filterSockets(f, unixToo) })
	if b.sockets == Stream {
		for call, flags := range map[uint32]uint32{n.sendto: 3, n.sendmsg: 2, n.sendmmsg: 3} {
			f.when(call, func(f *filter) {
				f.argument(flags)
				f.answerIf(syscall.BPF_JSET, fastOpen, refuse)
			})
		}
	}
	f.filterModes(n)
	f.answer(allow)
	return f
}

// filterModes forbids making set-user-ID programs. Inside they gain nobody anything, but in a folder
// that others reach they would make anybody its owner.
func (f *filter) filterModes(n calls) {
	for call, mode := range n.modes {
		f.when(call, func(f *filter) {
			f.argument(mode)
			f.answerIf(syscall.BPF_JSET, setUser, refuse)
		})
	}
	for call, mode := range n.opens {
		f.when(call, func(f *filter) {
			f.argument(mode)
			f.answerUnless(syscall.BPF_JSET, setUser, allow)
			f.argument(mode - 1)
			f.answerIf(syscall.BPF_JSET, makesFile, refuse)
		})
	}
}

// filterSockets looks at a family of sockets, and at its type where only some may be made.
func (b *box) filterSockets(f *filter, unixToo bool) {
	f.argument(0)
	if unixToo {
		f.answerIf(syscall.BPF_JEQ, syscall.AF_UNIX, allow)
	}
	if b.sockets == Any {
		f.answerIf(syscall.BPF_JEQ, syscall.AF_NETLINK, allow) // which addresses there are
	}
	if b.sockets == Any || b.sockets == Stream {
		f.add(syscall.BPF_JMP|syscall.BPF_JEQ|syscall.BPF_K, syscall.AF_INET, 2, 0)
		f.add(syscall.BPF_JMP|syscall.BPF_JEQ|syscall.BPF_K, syscall.AF_INET6, 1, 0)
	}
	f.answer(refuse)
	if b.sockets == Stream {
		f.argument(1)
		f.add(syscall.BPF_ALU|syscall.BPF_AND|syscall.BPF_K, kindOfType, 0, 0)
		f.answerUnless(syscall.BPF_JEQ, syscall.SOCK_STREAM, refuse)
		f.argument(2)
		f.answerIf(syscall.BPF_JEQ, 0, allow)
		f.answerUnless(syscall.BPF_JEQ, tcp, refuse)
	}
}

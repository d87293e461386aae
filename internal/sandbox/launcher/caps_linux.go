package launcher

import (
	"syscall"
	"unsafe"
)

// Of capabilities(7).
const (
	dacOverride   = 1
	setPCap       = 8
	capVersion3   = 0x20080522
	prCapDrop     = 24
	prCapAmbient  = 47
	ambientNone   = 4
	lastSupported = 63
)

type capHeader struct {
	version uint32
	pid     int32
}

type capSet struct {
	effective, permitted uint32
	_                    uint32 // inheritable: none
}

// dropCapabilities leaves root what it needs for files of the folders it was given, and
// nothing else: no clock, no modules, no devices, no other processes. Other users are left
// nothing of what they had for making the box.
func dropCapabilities() syscall.Errno {
	header := capHeader{version: capVersion3}
	var has [2]capSet
	if _, _, err := syscall.RawSyscall(syscall.SYS_CAPGET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&has)), 0); err != 0 {
		return err
	}
	if err := prctl(prCapAmbient, ambientNone); err != 0 {
		return err
	}
	if has[0].effective&(1<<setPCap) != 0 {
		if err := dropBounding(); err != 0 {
			return err
		}
	}
	kept := uint32(0)
	if syscall.Getuid() == 0 {
		kept = 1 << dacOverride
	}
	left := [2]capSet{{effective: has[0].effective & kept, permitted: has[0].permitted & kept}}
	_, _, err := syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&left)), 0)
	return err
}

// dropBounding limits what root gets back by becoming the program.
func dropBounding() syscall.Errno {
	for c := uintptr(0); c <= lastSupported; c++ {
		if c == dacOverride {
			continue
		}
		switch err := prctl(prCapDrop, c); err {
		case 0:
		case syscall.EINVAL:
			return 0 // the kernel knows no more
		default:
			return err
		}
	}
	return 0
}

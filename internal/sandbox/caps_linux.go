package sandbox

import (
	"errors"

	"golang.org/x/sys/unix"
)

// dropCapabilities leaves root what it needs for files of the folders it was given, and
// nothing else: no clock, no modules, no devices, no other processes. Users
// without capabilities have none to lose.
func dropCapabilities(orders) error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var has [2]unix.CapUserData
	if err := unix.Capget(&header, &has[0]); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) {
		return err
	}
	if has[0].Effective&(1<<unix.CAP_SETPCAP) != 0 {
		if err := dropBounding(); err != nil {
			return err
		}
	}
	const kept = 1 << unix.CAP_DAC_OVERRIDE
	left := [2]unix.CapUserData{{Effective: has[0].Effective & kept, Permitted: has[0].Permitted & kept}}
	return unix.Capset(&header, &left[0])
}

// dropBounding limits what root gets back by becoming the program.
func dropBounding() error {
	for c := uintptr(0); c <= 63; c++ {
		if c == unix.CAP_DAC_OVERRIDE {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
			if errors.Is(err, unix.EINVAL) {
				return nil // the kernel knows no more
			}
			return err
		}
	}
	return nil
}

//go:build unix

package probe

import (
	"slices"
	"strings"

	"github.com/shirou/gopsutil/v4/disk"
)

// withRoot adds the root file system, which in a container is none of the
// disk's, and puts shorter mount points first: a device mounted twice counts
// where it is at home.
func withRoot(parts []disk.PartitionStat) []disk.PartitionStat {
	if !slices.ContainsFunc(parts, func(p disk.PartitionStat) bool { return p.Mountpoint == "/" }) {
		parts = append(parts, disk.PartitionStat{Device: "/", Mountpoint: "/"})
	}
	slices.SortStableFunc(parts, func(a, b disk.PartitionStat) int { return len(a.Mountpoint) - len(b.Mountpoint) })
	return parts
}

// realVolume leaves out images, system helpers and what is only bound elsewhere.
func realVolume(p disk.PartitionStat) bool {
	if p.Mountpoint == "/" {
		return true
	}
	for _, prefix := range []string{"/dev/loop", "/dev/ram", "/dev/fd"} {
		if strings.HasPrefix(p.Device, prefix) {
			return false
		}
	}
	for _, prefix := range []string{"/snap/", "/System/Volumes/", "/private/var/vm", "/etc/", "/run/", "/proc/", "/sys/", "/dev/"} {
		if strings.HasPrefix(p.Mountpoint, prefix) {
			return false
		}
	}
	return p.Fstype != "squashfs" && p.Fstype != "iso9660" && p.Fstype != "devfs" && p.Fstype != "autofs"
}

func mountName(mount string) string { return mount }

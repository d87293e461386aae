package probe

import (
	"strings"

	"github.com/shirou/gopsutil/v4/disk"
	"golang.org/x/sys/windows"
)

func withRoot(parts []disk.PartitionStat) []disk.PartitionStat { return parts }

// realVolume keeps fixed drives: no CD, no network share, no stick.
func realVolume(p disk.PartitionStat) bool {
	root, err := windows.UTF16PtrFromString(strings.TrimRight(p.Mountpoint, `\`) + `\`)
	return err == nil && windows.GetDriveType(root) == windows.DRIVE_FIXED
}

func mountName(mount string) string { return strings.TrimRight(mount, `\`) }

package probe

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/shirou/gopsutil/v4/disk"
)

// Volumes lists the real volumes of the machine.
func Volumes(ctx context.Context) ([]Volume, error) {
	parts, err := disk.PartitionsWithContext(ctx, false)
	if err != nil && len(parts) == 0 {
		return nil, fmt.Errorf("volumes: %w", err)
	}
	var out []Volume
	seen := map[string]bool{}
	for _, p := range withRoot(parts) {
		if !realVolume(p) || seen[p.Device] {
			continue
		}
		u, err := disk.UsageWithContext(ctx, p.Mountpoint)
		if err != nil || u.Total == 0 {
			continue // an empty drive, or one that went away
		}
		seen[p.Device] = true
		out = append(out, Volume{Mount: mountName(p.Mountpoint), TotalBytes: u.Total, FreeBytes: u.Free, PercentUsed: percent(u), Device: p.Device})
	}
	slices.SortFunc(out, func(a, b Volume) int { return strings.Compare(a.Mount, b.Mount) })
	return out, nil
}

// percent is used of what a user can use, to one digit.
func percent(u *disk.UsageStat) float64 {
	if math.IsNaN(u.UsedPercent) || math.IsInf(u.UsedPercent, 0) {
		return 0
	}
	return math.Round(u.UsedPercent*10) / 10
}

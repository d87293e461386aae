package probe

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/shirou/gopsutil/v4/process"
)

// cpuWindow is how long processor use is measured; long enough to see load,
// short enough for somebody who waits.
const cpuWindow = 250 * time.Millisecond

// Processes lists the running programs, the largest first.
func Processes(ctx context.Context) ([]Process, error) {
	all, err := process.ProcessesWithContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("processes: %w", err)
	}
	before := cpuTimes(ctx, all)
	start := time.Now()
	timer := time.NewTimer(cpuWindow)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var out []Process
	for _, p := range all {
		used, has := before[p.Pid]
		one, ok := describe(ctx, p)
		if !ok {
			continue // it has ended
		}
		if now, ok := cpuTime(ctx, p); ok && has {
			one.CPU = math.Round(max(0, now-used)/time.Since(start).Seconds()*1000) / 10
		}
		out = append(out, one)
	}
	slices.SortFunc(out, func(a, b Process) int {
		return cmp.Or(cmp.Compare(b.MemBytes, a.MemBytes), cmp.Compare(a.PID, b.PID))
	})
	return out, nil
}

func describe(ctx context.Context, p *process.Process) (Process, bool) {
	name, err := p.NameWithContext(ctx)
	if err != nil {
		return Process{}, false
	}
	one := Process{PID: p.Pid, Name: name}
	if m, err := p.MemoryInfoWithContext(ctx); err == nil && m != nil {
		one.MemBytes = m.RSS
	}
	return one, true
}

func cpuTimes(ctx context.Context, all []*process.Process) map[int32]float64 {
	out := make(map[int32]float64, len(all))
	for _, p := range all {
		if t, ok := cpuTime(ctx, p); ok {
			out[p.Pid] = t
		}
	}
	return out
}

// cpuTime is the seconds of processor a process has used.
func cpuTime(ctx context.Context, p *process.Process) (float64, bool) {
	t, err := p.TimesWithContext(ctx)
	if err != nil || t == nil {
		return 0, false
	}
	return t.User + t.System, true
}

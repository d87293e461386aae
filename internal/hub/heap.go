package hub

import (
	"os"
	"runtime"
	"runtime/debug"
	gauges "runtime/metrics"
	"sync/atomic"
)

// heapRoom is what a hub may leave lying about beyond what Go's garbage collector
// allows by itself, which is as much as is in use. With little in use that is little,
// and a busy hub would be cleaned up many times a second.
const heapRoom = 64 << 20

// roomyHeap gives the garbage collector that room until stop is called. Who sets GOGC
// has decided otherwise.
func roomyHeap() (stop func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	h := &heap{}
	h.follow()
	return func() {
		h.stopped.Store(true)
		debug.SetGCPercent(usualPercent)
	}
}

// usualPercent is Go's own.
const usualPercent = 100

// heap follows what is in use.
type heap struct {
	stopped atomic.Bool
	percent int
}

// follow sets how far the heap may grow, and does so again after the next collection:
// that is when what nobody holds is cleaned up.
func (h *heap) follow() {
	if h.stopped.Load() {
		return
	}
	live := []gauges.Sample{{Name: "/gc/heap/live:bytes"}}
	gauges.Read(live)
	// Setting it stops everything for a moment, so small steps are left out.
	if p := percentFor(live[0].Value.Uint64()); p < h.percent*7/8 || p > h.percent*9/8 {
		h.percent = p
		debug.SetGCPercent(p)
	}
	runtime.AddCleanup(new(*heap), (*heap).follow, h)
}

// percentFor is how much may be added to what is in use.
func percentFor(live uint64) int {
	const least = 1 << 20 // before the first collection nothing is known
	return usualPercent + int(100*heapRoom/max(live, least))
}

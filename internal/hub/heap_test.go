package hub

import "testing"

func TestASmallHeapHasRoomAndALargeOneNoMore(t *testing.T) {
	for live, room := range map[uint64]uint64{0: 65 << 20, 16 << 20: 80 << 20, 64 << 20: 128 << 20, 1 << 30: 1<<30 + 64<<20, 64 << 30: 64 << 30} {
		got := max(live, 1<<20) * uint64(percentFor(live)) / 100
		if got > room || got < room*99/100 {
			t.Errorf("%d in use: %d more", live, got)
		}
	}
}

package eventlog

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// FuzzDecode reads what may come from another hub or a damaged journal, and writes it again as the
// log does: one batch after the other, each with its own time.
func FuzzDecode(f *testing.F) {
	f.Add(encode([]Event{{Seq: 7, At: time.UnixMicro(1), Kind: "a", Data: []byte("b")}, {Seq: 8, At: time.UnixMicro(2), Kind: "", Data: nil}}))
	f.Add([]byte{})
	f.Add([]byte{1, 2, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Add([]byte("00\x010\x0101\x00\x00"))            // two batches of different times
	f.Add([]byte("\x05\x02\x04~3~k\x00\x02\x00\x00")) // an event that stands for three
	f.Fuzz(func(t *testing.T, b []byte) {
		events, err := decode(b)
		if err != nil || len(events) == 0 {
			return
		}
		run := beginRun(nil, events[0].first())
		for i, ev := range events {
			if i > 0 && ev.first() != events[i-1].Seq+1 {
				t.Fatalf("event %d begins at %d, and the one before ends at %d", i, ev.first(), events[i-1].Seq)
			}
			if ev.first() < 0 || ev.Seq < ev.first() {
				t.Fatalf("event %d has the numbers %d to %d", i, ev.first(), ev.Seq)
			}
			at := ev.At
			ev.Kind = storedKind(&ev)
			run = appendRun(run, at, []Event{ev})
		}
		again, err := decode(run)
		if err != nil {
			t.Fatalf("what was read and written again cannot be read: %v", err)
		}
		if diff := cmp.Diff(events, again, cmp.Comparer(func(a, b []byte) bool { return string(a) == string(b) })); diff != "" {
			t.Errorf("what was read and written again differs (-first +second):\n%s", diff)
		}
	})
}

package eventlog

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func FuzzDecode(f *testing.F) {
	f.Add(encode([]Event{{Seq: 7, At: time.UnixMicro(1), Kind: "a", Data: []byte("b")}, {Seq: 8, At: time.UnixMicro(2), Kind: "", Data: nil}}))
	f.Add([]byte{})
	f.Add([]byte{1, 2, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, b []byte) {
		events, err := decode(b)
		if err != nil || len(events) == 0 {
			return
		}
		again, err := decode(encode(events))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(events, again, cmp.Comparer(func(a, b []byte) bool { return string(a) == string(b) })); diff != "" {
			t.Error(diff)
		}
	})
}

package redo

import (
	"errors"
	"fmt"
	"testing"
)

// BenchmarkAppend is what an acknowledgement costs on this machine's disk.
func BenchmarkAppend(b *testing.B) {
	for _, sync := range []bool{true, false} {
		b.Run(fmt.Sprintf("sync=%v", sync), func(b *testing.B) {
			l, _, err := Open(b.TempDir(), "db")
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			r := Record{Body: make([]byte, 1000)}
			b.ReportAllocs()
			for b.Loop() {
				r.Num++
				err := l.Append(r, sync)
				if errors.Is(err, ErrFull) {
					settled, _ := l.Switch()
					settled()
					err = l.Append(r, sync)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

package audit_test

import (
	"testing"

	"parley.internal/internal/audit"
	"parley.internal/internal/store/storetest"
)

// Durable entries by many callers at once share transactions.
func BenchmarkAppend(b *testing.B) {
	log := open(b, storetest.SQLite(b), audit.Options{Key: newKey()})
	entry := sample(1)[0]
	b.SetParallelism(64)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := log.Append(b.Context(), entry); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	log := open(b, storetest.SQLite(b), audit.Options{Key: newKey()})
	for range 10 {
		mustAppend(b, log, sample(1000)...)
	}
	for b.Loop() {
		if r := verify(b, log); !r.OK {
			b.Fatal(r)
		}
	}
	b.ReportMetric(10_000, "entries/op")
}

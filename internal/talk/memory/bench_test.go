package memory_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/store"
	"parley.internal/internal/talk/memory"
)

// filled makes a store with n messages of about a kilobyte, of which every one has
// the commonest words.
func filled(b *testing.B, n int) (*memory.Memory, string) {
	b.Helper()
	db, err := store.Open(context.Background(), filepath.Join(b.TempDir(), "parley.db"), store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	m := memory.New(db)
	c, err := m.Open(context.Background(), main, false)
	if err != nil {
		b.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for done := 0; done < n; {
		batch := make([]memory.Message, min(1000, n-done))
		for i := range batch {
			batch[i] = words(random, done+i)
		}
		if _, err := m.Append(context.Background(), nil, c.ID, batch...); err != nil {
			b.Fatal(err)
		}
		done += len(batch)
	}
	return m, c.ID
}

func words(random *rand.Rand, i int) memory.Message {
	var text strings.Builder
	text.WriteString("the and of ")
	for text.Len() < 1000 {
		// Few words are common, many are rare.
		fmt.Fprintf(&text, "w%d ", int(random.ExpFloat64()*2000))
	}
	fmt.Fprintf(&text, "unique%d", i)
	return said([]model.Role{model.User, model.Assistant}[i%2], text.String())
}

func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{10, 100_000} {
		b.Run(fmt.Sprint("after ", n), func(b *testing.B) {
			m, id := filled(b, n)
			msg := words(rand.New(rand.NewPCG(3, 4)), 0)
			b.ResetTimer()
			for b.Loop() {
				if _, err := m.Append(context.Background(), nil, id, msg); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSearch(b *testing.B) {
	sizes := []int{100_000}
	if os.Getenv("PARLEY_BENCH_MILLION") != "" {
		sizes = append(sizes, 1_000_000)
	}
	for _, n := range sizes {
		m, _ := filled(b, n)
		for name, q := range map[string]memory.Query{
			"common":      {Text: "the"},
			"common pair": {Text: "the of", Agent: "crab", Sender: "user"},
			"rare":        {Text: fmt.Sprint("unique", n/2)},
			"mixed":       {Text: "the w17 w400"},
			"or":          {Text: "w17 nowhere"},
			"question":    {Text: "Hey, what was the w17 number of the w400 that w2900 had again?", Any: true, Agent: "crab", Sender: "user"},
			"all common":  {Text: "w17 w18 w19 w20 w21 w22", Any: true, Agent: "crab", Sender: "user"},
		} {
			b.Run(fmt.Sprintf("%d/%s", n, name), func(b *testing.B) {
				var took []time.Duration
				for b.Loop() {
					start := time.Now()
					if _, err := m.Search(context.Background(), q); err != nil {
						b.Fatal(err)
					}
					took = append(took, time.Since(start))
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
			})
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	m, id := filled(b, 100_000)
	if _, err := m.Archive(context.Background(), nil, id, memory.NewArchive{Summary: "all of it", ToSeq: 100_000}); err != nil {
		b.Fatal(err)
	}
	if _, err := m.Append(context.Background(), nil, id, said(model.User, "one more")); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for b.Loop() {
		if _, err := m.Load(context.Background(), nil, id, memory.Interruption{}); err != nil {
			b.Fatal(err)
		}
	}
}

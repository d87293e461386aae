package bench

import (
	"io"
	"os"
	"slices"
	"testing"

	"parley.internal/test/natstest"
	"parley.internal/test/pgtest"
)

// byScript are the rows that cmd/parley/testdata/script/bench.txtar runs with the real
// program: a command in a box is started by it again.
var byScript = []string{"idle", "echo", "fanout", "start", "relay", "box"}

// TestEveryRowMeasuresSomething runs each row with a load of a moment: none may be broken
// when somebody wants its figures. What it finds depends on the machine and is not judged.
func TestEveryRowMeasuresSomething(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range Rows() {
		if slices.Contains(byScript, row.Name) {
			continue
		}
		t.Run(row.Name, func(t *testing.T) {
			opts := Options{Quick: true, Dir: t.TempDir(), Child: []string{self, asRole}}
			if row.Name == "across" {
				opts.DB, opts.NATS = pgtest.URL(t), natstest.Run(t).URL()
			}
			found := measure(t.Context(), row, opts, io.Discard)
			if found.Error != "" || len(found.Results) == 0 {
				t.Fatalf("the row measured %d things and then: %s", len(found.Results), found.Error)
			}
			for _, r := range found.Results {
				if r.Ours.Value <= 0 || r.Limit != nil && r.Ratio <= 0 {
					t.Errorf("%s has no figure: %+v", r.Case, r)
				}
			}
		})
	}
}

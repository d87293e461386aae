package eventlog_test

import (
	"fmt"
	"testing"

	"parley.internal/internal/eventlog"
	"parley.internal/internal/store/storetest"
)

// What a log remembers of a stream is a guess: another log on the same store may
// have written to it, deleted it, or given its number to another.
func TestALogThatRemembersWronglyAsks(t *testing.T) {
	for _, streams := range []int{1, 3} {
		t.Run(fmt.Sprint(streams, " streams"), func(t *testing.T) {
			db := storetest.SQLite(t)
			ours, theirs := newLog(t, db), newLog(t, db)
			for i := range streams {
				name := fmt.Sprint("stream.", i)
				for n, log := range []*eventlog.Log{ours, theirs, ours, ours} {
					if first := appended(t, log, name, "word"); first != int64(n+1) {
						t.Fatalf("%s: wrote %d, want %d", name, first, n+1)
					}
				}
			}
			last := fmt.Sprint("stream.", streams-1)
			if err := theirs.Delete(t.Context(), nil, last); err != nil {
				t.Fatal(err)
			}
			// The same place in the table, and as far as the one before it was.
			appended(t, theirs, "stranger", "a", "b", "c", "d")
			if first := appended(t, ours, last, "anew"); first != 1 {
				t.Errorf("a stream that begins anew begins with %d", first)
			}
			if first := appended(t, theirs, "stranger", "e"); first != 5 {
				t.Errorf("the stranger goes on with %d", first)
			}
		})
	}
}

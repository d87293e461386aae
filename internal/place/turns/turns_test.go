package turns

import (
	"context"
	"errors"
	"sync"
	"testing"
)

// TestAFailingTurnIsDoneOneByOne: whoever is the cause fails alone.
func TestAFailingTurnIsDoneOneByOne(t *testing.T) {
	bad, entered, release := errors.New("bad"), make(chan struct{}), make(chan struct{})
	var largest int
	g := &Group[string]{Run: func(batch []*Call[string]) error {
		if batch[0].What == "first" {
			close(entered)
			<-release
		}
		largest = max(largest, len(batch))
		for _, c := range batch {
			if c.What == "bad" {
				return bad
			}
		}
		return nil
	}}
	var wg sync.WaitGroup
	wg.Go(func() { _ = g.Do(context.Background(), "first") })
	<-entered
	for i := range 9 {
		wg.Go(func() {
			kind := "good"
			if i == 4 {
				kind = "bad"
			}
			if err := g.Do(context.Background(), kind); (err != nil) != (kind == "bad") {
				t.Errorf("%s: %v", kind, err)
			}
		})
	}
	for waits := 0; waits < 9; {
		g.mu.Lock()
		waits = len(g.waiting)
		g.mu.Unlock()
	}
	close(release)
	wg.Wait()
	if largest != 9 {
		t.Errorf("the nine who waited had one turn, the largest had %d", largest)
	}
}

// TestACallerWhoLeavesInTimeHasNoEffect: one that waits for the next turn may go.
func TestACallerWhoLeavesInTimeHasNoEffect(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	var done []string
	g := &Group[string]{Run: func(batch []*Call[string]) error {
		if batch[0].What == "first" {
			close(entered)
			<-release
		}
		for _, c := range batch {
			done = append(done, c.What)
		}
		return nil
	}}
	var wg sync.WaitGroup
	wg.Go(func() { _ = g.Do(context.Background(), "first") })
	<-entered
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := g.Do(ctx, "gone"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	close(release)
	wg.Wait()
	if len(done) != 1 {
		t.Errorf("%v were done, only the first stayed", done)
	}
}

package turns

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
)

func one(string) int { return 1 }

// await returns when so many wait for the next turn.
func (g *Group[T]) await(n int) {
	for waits := 0; waits < n; {
		g.mu.Lock()
		waits = len(g.waiting)
		g.mu.Unlock()
		runtime.Gosched()
	}
}

// TestAFailingTurnIsDoneOneByOne: whoever is the cause fails alone.
func TestAFailingTurnIsDoneOneByOne(t *testing.T) {
	bad, entered, release := errors.New("bad"), make(chan struct{}), make(chan struct{})
	var largest int
	g := New(100, one, func(batch []*Call[string]) (func(), error) {
		if batch[0].What == "first" {
			close(entered)
			<-release
		}
		largest = max(largest, len(batch))
		for _, c := range batch {
			if c.What == "bad" {
				return nil, bad
			}
		}
		return nil, nil
	})
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
	g.await(9)
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
	g := New(100, one, func(batch []*Call[string]) (func(), error) {
		if batch[0].What == "first" {
			close(entered)
			<-release
		}
		for _, c := range batch {
			done = append(done, c.What)
		}
		return nil, nil
	})
	var wg sync.WaitGroup
	wg.Go(func() { _ = g.Do(context.Background(), "first") })
	<-entered
	ctx, cancel := context.WithCancel(context.Background())
	wg.Go(func() {
		if err := g.Do(ctx, "gone"); !errors.Is(err, context.Canceled) {
			t.Errorf("the call of one that left ended with %v", err)
		}
		close(release)
	})
	g.await(1)
	cancel()
	wg.Wait()
	if len(done) != 1 {
		t.Errorf("%v were done, only the first stayed", done)
	}
}

// TestWhatIsHeavyHasATurnOfItsOwn, and comes in its place.
func TestWhatIsHeavyHasATurnOfItsOwn(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	var had [][]string
	heavy := func(what string) int {
		if what == "heavy" {
			return 101
		}
		return 40
	}
	g := New(100, heavy, func(batch []*Call[string]) (func(), error) {
		if batch[0].What == "first" {
			close(entered)
			<-release
		}
		var turn []string
		for _, c := range batch {
			turn = append(turn, c.What)
		}
		had = append(had, turn)
		return nil, nil
	})
	var wg sync.WaitGroup
	wg.Go(func() { _ = g.Do(context.Background(), "first") })
	<-entered
	for _, what := range []string{"a", "b", "c", "heavy", "d"} {
		wg.Add(1)
		g.Soon(context.Background(), what, func(error) { wg.Done() })
	}
	close(release)
	wg.Wait()
	want := [][]string{{"first"}, {"a", "b"}, {"c"}, {"heavy"}, {"d"}}
	if !slices.EqualFunc(had, want, slices.Equal[[]string]) {
		t.Errorf("the turns were %v, and should have been %v", had, want)
	}
}

// TestTheNewsOfTurnsComesInTheirOrder, though it is told while the next is on its way.
func TestTheNewsOfTurnsComesInTheirOrder(t *testing.T) {
	var news []int
	turn := 0
	g := New(tellAside, one, func([]*Call[string]) (func(), error) {
		turn++
		mine := turn
		return func() { news = append(news, mine) }, nil
	})
	var wg sync.WaitGroup
	for range 10 * tellAside {
		wg.Add(1)
		g.Soon(context.Background(), "", func(error) { wg.Done() })
	}
	wg.Wait()
	if len(news) != turn || !slices.IsSorted(news) {
		t.Errorf("%d turns were told of as %v", turn, news)
	}
}

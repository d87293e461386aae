package place

import (
	"context"
	"errors"
	"sync"
	"testing"
)

// TestAFailingBatchIsDoneOneByOne: whoever is the cause fails alone.
func TestAFailingBatchIsDoneOneByOne(t *testing.T) {
	bad, entered, release := errors.New("bad"), make(chan struct{}), make(chan struct{})
	var largest int
	g := &group{run: func(batch []*op) error {
		if batch[0].send.m.kind == "first" {
			close(entered)
			<-release
		}
		largest = max(largest, len(batch))
		for _, o := range batch {
			if o.send.m.kind == "bad" {
				return bad
			}
		}
		return nil
	}}
	call := func(kind string) error {
		return g.add(&op{ctx: context.Background(), send: &sending{m: &message{kind: kind}}})
	}
	var wg sync.WaitGroup
	wg.Go(func() { _ = call("first") })
	<-entered
	for i := range 9 {
		wg.Go(func() {
			kind := "good"
			if i == 4 {
				kind = "bad"
			}
			if err := call(kind); (err != nil) != (kind == "bad") {
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
		t.Errorf("the largest batch was %d", largest)
	}
}

// TestAPanicIsAnErrorOfItsRequest: the hub lives on.
func TestAPanicIsAnErrorOfItsRequest(t *testing.T) {
	p := &Place{}
	p.d.defaults()
	if err := p.commit([]*op{{ctx: t.Context(), send: &sending{}}}); err == nil {
		t.Error("no error")
	}
}

package board

import (
	"slices"
	"testing"
)

// A message to a task whose hub hung held up everything else that its connection asked for.
func TestAMessageToATaskThatHangsHoldsUpThatTaskAlone(t *testing.T) {
	c, hangs, said := &conn{}, make(chan struct{}), make(chan string, 8)
	c.tasks.put(c, func() { c.saying.put(c, "hung", func() { <-hangs; said <- "first" }) })
	c.tasks.put(c, func() { c.saying.put(c, "hung", func() { said <- "second" }) })
	c.tasks.put(c, func() { c.saying.put(c, "other", func() { said <- "other" }) })
	c.tasks.put(c, func() { said <- "list" })
	got := []string{<-said, <-said}
	slices.Sort(got)
	if want := []string{"list", "other"}; !slices.Equal(got, want) {
		t.Fatalf("while one task hangs %v were done, want %v", got, want)
	}
	byes := make(chan struct{})
	c.tasks.put(c, func() { c.saying.wait(); close(byes) })
	close(hangs)
	if got := []string{<-said, <-said}; !slices.Equal(got, []string{"first", "second"}) {
		t.Errorf("the messages to one task were said as %v, want their order", got)
	}
	<-byes
	c.work.Wait()
	if len(c.saying.last) != 0 {
		t.Errorf("%d tasks are remembered with nothing to say to them", len(c.saying.last))
	}
}

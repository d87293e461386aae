package crew

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestNoJobWaitsForAnother(t *testing.T) {
	c := New()
	defer c.Close()
	hold := make(chan struct{})
	for range 8 {
		c.Go(func() { <-hold })
	}
	done := false
	c.Do(func() { done = true })
	if !done {
		t.Error("it was not done")
	}
	close(hold)
}

func TestAPanicIsTheCallersAndHarmsNobodyElse(t *testing.T) {
	c := New()
	defer c.Close()
	func() {
		defer func() {
			if p := recover(); p != "broken" {
				t.Errorf("panic %v", p)
			}
		}()
		c.Do(func() { panic("broken") })
	}()
	c.Do(func() {})
}

func TestWhoHasNothingToDoGoesHome(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		c := New()
		c.Do(func() {})
		<-time.After(2 * rest)
		synctest.Wait()
		c.gone.Wait() // nobody is left, though nobody was told to go
	})
}

func TestCloseWaitsForWhatWasBegun(t *testing.T) {
	c := New()
	var n atomic.Int64
	for range 100 {
		c.Go(func() { n.Add(1) })
	}
	c.Close()
	if got := n.Load(); got != 100 {
		t.Errorf("%d of 100 jobs were done", got)
	}
}

package tunnel

import (
	"sync"
	"time"
)

// crew does handshakes. Signatures and JSON need a deep stack, for a moment: on a
// goroutine that has one already they cost less, and the thousands that read for
// their machines ever after stay small.
type crew struct {
	jobs chan func()
	quit chan struct{}
	gone sync.WaitGroup
	stop func()
}

// crewRest is how long somebody of the crew waits for the next job.
const crewRest = time.Second

func newCrew() *crew {
	c := &crew{jobs: make(chan func()), quit: make(chan struct{})}
	c.stop = sync.OnceFunc(func() { close(c.quit) })
	return c
}

// do returns when f has. A panic of f is the caller's.
func (c *crew) do(f func()) {
	done := make(chan struct{})
	var panics any
	job := func() {
		defer close(done)
		defer func() { panics = recover() }()
		f()
	}
	select {
	case c.jobs <- job:
	default:
		c.gone.Go(func() { c.work(job) })
	}
	<-done
	if panics != nil {
		panic(panics)
	}
}

func (c *crew) work(job func()) {
	rest := time.NewTimer(crewRest)
	defer rest.Stop()
	for {
		job()
		rest.Reset(crewRest)
		select {
		case job = <-c.jobs:
		case <-rest.C:
			return
		case <-c.quit:
			return
		}
	}
}

// close waits for everybody; call it when nothing begins any more.
func (c *crew) close() {
	c.stop()
	c.gone.Wait()
}

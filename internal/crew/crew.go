package crew

import (
	"sync"
	"time"
)

// rest is how long somebody waits for the next job.
const rest = time.Second

// Crew is the goroutines.
type Crew struct {
	jobs chan func()
	quit chan struct{}
	gone sync.WaitGroup
	stop func() // once
	// waits are what Do waits with, to be used again.
	waits sync.Pool
}

// New makes a crew of nobody; they come with the work.
func New() *Crew {
	c := &Crew{jobs: make(chan func()), quit: make(chan struct{})}
	c.stop = sync.OnceFunc(func() { close(c.quit) })
	c.waits.New = func() any {
		w := &wait{done: make(chan struct{}, 1)}
		w.run = w.do
		return w
	}
	return c
}

// Go has f done beside the caller.
func (c *Crew) Go(f func()) {
	select {
	case c.jobs <- f:
	default:
		c.gone.Go(func() { c.work(f) })
	}
}

// Do returns when f has. A panic of f is the caller's.
func (c *Crew) Do(f func()) {
	w := c.waits.Get().(*wait)
	w.f = f
	c.Go(w.run)
	<-w.done
	panics := w.panics
	w.f, w.panics = nil, nil
	c.waits.Put(w)
	if panics != nil {
		panic(panics)
	}
}

// wait is a job somebody waits for.
type wait struct {
	f      func()
	done   chan struct{}
	panics any
	run    func() // do, bound once
}

func (w *wait) do() {
	defer func() {
		w.panics = recover()
		w.done <- struct{}{}
	}()
	w.f()
}

func (c *Crew) work(f func()) {
	timer := time.NewTimer(rest)
	defer timer.Stop()
	for {
		f()
		timer.Reset(rest)
		select {
		case f = <-c.jobs:
		case <-timer.C:
			return
		case <-c.quit:
			return
		}
	}
}

// Close waits for everybody; call it when nothing begins any more.
func (c *Crew) Close() {
	c.stop()
	c.gone.Wait()
}

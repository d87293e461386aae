package notice

import (
	"context"
	"errors"
	"sync"
	"time"

	"parley.internal/internal/endpoint/control"
)

// Answer is what a person did with a notice.
type Answer int

// Answers. Whoever closes a notice has not decided: the question waits on.
const (
	Closed Answer = iota
	Allow
	Deny
)

// Ask shows a question until it is answered or ctx ends; then the notice is gone.
type Ask func(ctx context.Context, q control.Question) (Answer, error)

const (
	// lookEvery is how often the desk is looked at: how long a notice outlives its question.
	lookEvery = 300 * time.Millisecond
	// linger is how long a helper waits for another question before it ends.
	linger = 5 * time.Second
)

// Watch shows every question that waits at a state folder's endpoint, and gives the
// answers. It ends when none has waited for a while.
func Watch(ctx context.Context, state string, ask Ask) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := &watch{state: state, ask: ask, shown: map[int]context.CancelFunc{}}
	defer w.work.Wait()
	defer cancel()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for last := time.Now(); time.Since(last) < linger; {
		reply, err := control.Ask(ctx, state, control.Request{List: true})
		switch {
		case err != nil:
			return err
		case reply.Error != "":
			return errors.New(reply.Error)
		case len(reply.Waiting) > 0:
			last = time.Now()
		}
		w.show(ctx, reply.Waiting)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

type watch struct {
	state string
	ask   Ask
	shown map[int]context.CancelFunc
	work  sync.WaitGroup
}

// show puts up what is new and takes down what waits no more.
func (w *watch) show(ctx context.Context, waiting []control.Question) {
	still := map[int]bool{}
	for _, q := range waiting {
		still[q.N] = true
		if _, there := w.shown[q.N]; there {
			continue
		}
		one, cancel := context.WithCancel(ctx)
		w.shown[q.N] = cancel
		w.work.Go(func() { w.put(one, q) })
	}
	for n, cancel := range w.shown {
		if !still[n] {
			cancel()
			delete(w.shown, n)
		}
	}
}

// put shows one question and passes the answer on. Who may not say yes is told so by
// the endpoint, and the question waits on for who may.
func (w *watch) put(ctx context.Context, q control.Question) {
	answer, err := w.ask(ctx, q)
	if err != nil || answer == Closed || ctx.Err() != nil {
		return
	}
	_, _ = control.Ask(ctx, w.state, control.Request{Answer: q.N, Yes: answer == Allow})
}

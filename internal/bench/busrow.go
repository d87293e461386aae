package bench

import (
	"context"
	"fmt"
	"time"

	"parley.internal/internal/bus"
)

// busRow: a message from publisher to handler in this process.
func busRow() Row {
	return Row{Name: "bus", What: "a message from publisher to handler in one process, against a Go channel", Run: runBus}
}

func runBus(_ context.Context, env *Env) ([]Result, error) {
	var steps []Result
	for _, subs := range pick(env, []int{1, 1_000, 10_000, 100_000}, []int{1, 1_000}) {
		env.say("%s", count(subs, "subscription"))
		r, err := busStep(env, subs)
		if err != nil {
			return steps, err
		}
		steps = append(steps, r)
	}
	grow(steps, perOp(steps))
	return steps, nil
}

func busStep(env *Env, subs int) (Result, error) {
	b := bus.NewLocal()
	defer func() { _ = b.Close() }()
	arrived := make(chan struct{}, 1)
	for i := range subs {
		if _, err := b.Subscribe(fmt.Sprintf("thing.%d", i), func(m bus.Msg) {
			if len(m.Data) > 0 { // the last of a slice
				arrived <- struct{}{}
			}
		}); err != nil {
			return Result{}, err
		}
	}
	per := pick(env, 200_000, 2_000)
	var spent [2]time.Duration
	for range pick(env, 8, 2) {
		spent[0] += overChannel(per)
		d, err := overBus(b, subs, per, arrived)
		if err != nil {
			return Result{}, err
		}
		spent[1] += d
	}
	n := float64(per * pick(env, 8, 2))
	return compare(count(subs, "subscription"), rate(n, spent[1]), rate(n, spent[0]), 0), nil
}

// busAhead bounds what waits on either side: the channel's size, and far below
// what a subscription drops from.
const busAhead = 1_000

func overChannel(n int) time.Duration {
	c, done := make(chan bus.Msg, busAhead), make(chan struct{})
	go func() {
		for range c {
		}
		close(done)
	}()
	started := time.Now()
	for range n {
		c <- bus.Msg{Subject: "thing.0"}
	}
	close(c)
	<-done
	return time.Since(started)
}

// overBus publishes to the subscriptions in turn, each a stretch of messages,
// and waits for the last of every stretch.
func overBus(b bus.Bus, subs, n int, arrived <-chan struct{}) (time.Duration, error) {
	started := time.Now()
	for sent := 0; sent < n; sent += busAhead {
		subject := fmt.Sprintf("thing.%d", sent/busAhead%subs)
		for range busAhead - 1 {
			if err := b.Publish(subject, nil); err != nil {
				return 0, err
			}
		}
		if err := b.Publish(subject, []byte{1}); err != nil {
			return 0, err
		}
		<-arrived
	}
	return time.Since(started), nil
}

//go:build !linux

package bench

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"parley.internal/client/agentfirst"
)

// listen has each of them listen with a client of its own.
func (c *audience) listen(ctx context.Context) (late []time.Duration, err error) {
	var mu sync.Mutex
	var g errgroup.Group
	for i := range c.n {
		g.Go(func() error {
			mine, err := c.one(ctx, i)
			mu.Lock()
			defer mu.Unlock()
			late = append(late, mine...)
			return err
		})
	}
	err = g.Wait()
	return late, err
}

func (c *audience) one(ctx context.Context, i int) ([]time.Duration, error) {
	select {
	case <-time.After(c.due(i)):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	client, err := agentfirst.Dial(ctx, "unix://"+c.socket, agentfirst.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { _ = client.Close() }()
	var e ear
	for ev, err := range client.Stream(ctx, c.turn(i)) {
		if err == nil {
			err = e.hear(c, ev, time.Now())
		}
		if err != nil {
			return e.late, err
		}
	}
	return e.late, nil
}

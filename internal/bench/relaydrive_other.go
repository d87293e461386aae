//go:build !linux

package bench

import (
	"context"
	"slices"
	"time"
)

// drive makes clients with a goroutine each.
func (r *relayed) drive(_ context.Context, clients int, ask asking) (*driver, error) {
	return &driver{r: r, clients: clients, ask: ask}, nil
}

type driver struct {
	r       *relayed
	clients int
	ask     asking
}

func (*driver) close() {}

// run lets every client make one request after the other for that long.
func (d *driver) run(span time.Duration) (int64, time.Duration, error) {
	return writing{inFlight: d.clients, write: func(who int) error {
		for turn := range d.ask.turns {
			request, want := d.ask.next(who, turn, nil)
			if err := d.r.conns[who].exchange(request, want); err != nil {
				return err
			}
		}
		return nil
	}}.run(span)
}

// times of the requests since they were asked for last.
func (d *driver) times() (all []time.Duration) {
	for _, c := range d.r.conns {
		all, c.took = slices.Concat(all, c.took), nil
	}
	return all
}

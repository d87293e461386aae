package bench

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"parley.internal/internal/bench/role"
)

// fanoutRow: one message to many.
func fanoutRow() Row {
	return Row{Name: "fanout", What: "1 KiB to every member, encoded once, against the same bytes written to raw TCP", Run: runFanout}
}

// fanAhead is how many messages may be under way, as in a lively room.
const fanAhead = 4

func runFanout(ctx context.Context, env *Env) ([]Result, error) {
	return fanAgainstTCP(ctx, env, []int{20, 200}, func(members int) (*side, func(rounds int) (int64, error), error) {
		ours := &side{}
		return ours, ours.pump, ours.open(ctx, env, members, "ws-fan")
	})
}

// openFan opens our side of a fan; what it returns pumps rounds to all members.
type openFan func(members int) (ours *side, pump func(rounds int) (int64, error), err error)

// fanAgainstTCP measures a fan of ours for growing numbers of members beside the same bytes on
// raw TCP.
func fanAgainstTCP(ctx context.Context, env *Env, quick []int, open openFan) ([]Result, error) {
	var results []Result
	for _, members := range env.affordable(pick(env, []int{50, 500, 5_000}, quick), 2) {
		r, err := fanStep(ctx, env, members, open)
		if err != nil {
			return results, err
		}
		if members >= 500 {
			r.Target.Ratio = 0.8
		}
		results = append(results, r)
	}
	grow(results, perOp(results))
	return results, nil
}

func fanStep(ctx context.Context, env *Env, members int, open openFan) (Result, error) {
	env.say("%s", count(members, "member"))
	raw := &side{}
	defer raw.close()
	if err := raw.openTCPFan(ctx, env, members); err != nil {
		return Result{}, err
	}
	ours, pump, err := open(members)
	defer ours.close()
	if err != nil {
		return Result{}, err
	}
	rounds := max(2*fanAhead, pick(env, 60_000, 2_000)/members)
	for range pick(env, 8, 2) {
		if err := raw.measured(func() (int64, error) { return raw.pump(rounds) }); err != nil {
			return Result{}, err
		}
		if err := ours.measured(func() (int64, error) { return pump(rounds) }); err != nil {
			return Result{}, err
		}
	}
	r := compare(count(members, "member"), rate(float64(ours.ops), ours.spent), rate(float64(raw.ops), raw.spent), 0)
	r.account(ours, raw, "delivery")
	return r, nil
}

// openTCPFan returns when all members are in.
func (s *side) openTCPFan(ctx context.Context, env *Env, members int) error {
	if err := s.open(ctx, env, members, "tcp-fan"); err != nil {
		return err
	}
	for _, c := range s.conns {
		if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
			return err
		}
	}
	return nil
}

// pump is pumpTo with the members of raw TCP.
func (s *side) pump(rounds int) (int64, error) {
	return pumpTo(s.Child, s.conns, rounds, func(c net.Conn) func() error {
		buf := make([]byte, role.FanWire)
		return func() error { _, err := io.ReadFull(c, buf); return err }
	})
}

// pumpTo asks for rounds, a few ahead of the slowest member, until all have all.
func pumpTo[M any](hub *role.Child, members []M, rounds int, reader func(M) func() error) (int64, error) {
	slots := make(chan struct{}, fanAhead)
	counts := make([]atomic.Int64, rounds)
	g, ctx := errgroup.WithContext(context.Background())
	for _, m := range members {
		g.Go(func() error {
			read := reader(m)
			for i := range rounds {
				if err := read(); err != nil {
					return fmt.Errorf("a member: %w", err)
				}
				if counts[i].Add(1) == int64(len(members)) {
					<-slots
				}
			}
			return nil
		})
	}
	for range rounds {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done(): // a member is gone
			return 0, g.Wait()
		}
		if err := hub.Tell("round"); err != nil {
			return 0, err
		}
	}
	return int64(rounds * len(members)), g.Wait()
}

package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"parley.internal/internal/bench/role"
	"parley.internal/internal/bench/system"
)

// idleRow: what a connection costs that does nothing.
func idleRow() Row {
	return Row{Name: "idle", What: "memory of an idle WebSocket connection, used once, heartbeats running", Run: runIdle}
}

// Per connection, from the list of what to reach.
const (
	idlePlainMost = 20 << 10
	idleTLSMost   = 35 << 10
)

func runIdle(ctx context.Context, env *Env) ([]Result, error) {
	if system.ResidentMemory() == 0 {
		return nil, fmt.Errorf("%w: %s has no /proc/self/smaps_rollup", errNotHere, runtime.GOOS)
	}
	plain, err := idleSteps(ctx, env, "plain", idlePlainMost)
	if err != nil {
		return plain, err
	}
	secure, err := idleSteps(ctx, env, "tls", idleTLSMost)
	return append(plain, secure...), err
}

// idleSteps fills one server step by step.
func idleSteps(ctx context.Context, env *Env, kind string, most float64) (results []Result, err error) {
	every := pick(env, 2*time.Second, 200*time.Millisecond)
	c, err := env.start(ctx, "ws-echo", kind, every.String())
	if err != nil {
		return nil, err
	}
	defer c.Stop()
	w := &crowd{}
	defer w.close()
	// The first ones pay for what all share.
	if err := w.add(ctx, 50, dialWS(c.Hello)); err != nil {
		return nil, err
	}
	before, err := c.Usage(true)
	if err != nil {
		return nil, err
	}
	for _, n := range env.affordable(pick(env, []int{1_000, 5_000, 15_000}, []int{100, 400}), 1) {
		env.say("%s, %s connections", kind, thousands(int64(n)))
		r, err := idleStep(ctx, c, w, before, n)
		if err != nil {
			return results, err
		}
		r.Case, r.Target.Most = fmt.Sprintf("%s, %s connections", kind, thousands(int64(n))), most
		results = append(results, r)
	}
	grow(results, perOp(results))
	return results, nil
}

func idleStep(ctx context.Context, c *role.Child, w *crowd, before role.Usage, n int) (r Result, err error) {
	if err := w.add(ctx, n+50-len(w.conns), dialWS(c.Hello)); err != nil {
		return r, err
	}
	if err := w.awaitBeats(ctx, 2); err != nil {
		return r, err
	}
	busy, err1 := c.Usage(false)
	settled, err2 := c.Usage(true)
	if err := errors.Join(err1, err2); err != nil {
		return r, err
	}
	each := func(u role.Usage) Figure { return Figure{float64(u.RSS-before.RSS) / float64(n), Bytes} }
	r = atMost("", each(settled), 0)
	r.Note = fmt.Sprintf("%s before the collector gave back what connecting had used", each(busy))
	return r, nil
}

// affordable leaves out the steps for which this process may not open enough
// files; each unit of a step needs that many.
func (e *Env) affordable(steps []int, each int) []int {
	limit := system.OpenFiles() - 500
	var can []int
	for _, n := range steps {
		if n*each > limit {
			e.say("%s left out: only %s files may be open (ulimit -n)", thousands(int64(n)), thousands(int64(limit+500)))
			continue
		}
		can = append(can, n)
	}
	return can
}

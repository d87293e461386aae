package bench

import (
	"context"
	"fmt"
	"net"
	"time"

	"parley.internal/internal/bench/role"
)

// echoRow: request and response through the real read, queue and write path.
func echoRow() Row {
	return Row{Name: "echo", What: "small JSON request → response on every connection at once, against raw TCP", Run: runEcho}
}

func runEcho(ctx context.Context, env *Env) ([]Result, error) {
	var results []Result
	for _, n := range env.affordable(pick(env, []int{10, 100, 1_000, 9_000}, []int{10, 100}), 2) {
		r, err := echoStep(ctx, env, n)
		if err != nil {
			return results, err
		}
		if n == 1_000 {
			r.Target.Ratio = 0.5
		}
		results = append(results, r)
	}
	grow(results, perOp(results))
	return results, nil
}

// side is one of two servers that do the same work.
type side struct {
	*role.Child
	conns   []net.Conn
	message []byte
	answer  int
	ops     int64
	spent   time.Duration
	cpu     time.Duration
}

func echoStep(ctx context.Context, env *Env, n int) (Result, error) {
	env.say("%s", count(n, "connection"))
	raw := &side{message: clientFrame(1, request), answer: len(clientFrame(1, request))}
	ours := &side{message: raw.message, answer: raw.answer - 4} // a server's frame has no mask
	defer raw.close()
	defer ours.close()
	if err := raw.open(ctx, env, n, "tcp-echo"); err != nil {
		return Result{}, err
	}
	if err := ours.open(ctx, env, n, "ws-echo", "plain"); err != nil {
		return Result{}, err
	}
	return answersAgainst(env, count(n, "connection"), ours, raw)
}

// answersAgainst has both sides answer in turns, so that both meet the same machine.
func answersAgainst(env *Env, what string, ours, raw *side) (Result, error) {
	for range pick(env, 8, 2) {
		for _, s := range []*side{raw, ours} {
			if err := s.slice(pick(env, 700*time.Millisecond, 100*time.Millisecond)); err != nil {
				return Result{}, err
			}
		}
	}
	r := compare(what, rate(float64(ours.ops), ours.spent), rate(float64(raw.ops), raw.spent), 0)
	r.account(ours, raw, "answer")
	return r, nil
}

// open starts the server and connects n clients.
func (s *side) open(ctx context.Context, env *Env, n int, role ...string) (err error) {
	if s.Child, err = env.start(ctx, role...); err != nil {
		return err
	}
	dial := dialTCP(s.Hello.Addr)
	if role[0] != "tcp-echo" && role[0] != "tcp-fan" {
		dial = dialWS(s.Hello)
	}
	s.conns, err = dialAll(ctx, n, dial)
	return err
}

func (s *side) close() {
	hangUp(s.conns)
	if s.Child != nil {
		s.Stop()
	}
}

// measured adds what work took to the side's account.
func (s *side) measured(work func() (int64, error)) error {
	before, err := s.Usage(false)
	if err != nil {
		return err
	}
	started := time.Now()
	n, err := work()
	s.spent += time.Since(started)
	s.ops += n
	if err != nil {
		return err
	}
	after, err := s.Usage(false)
	s.cpu += after.CPU - before.CPU
	return err
}

func (s *side) slice(d time.Duration) error {
	return s.measured(func() (int64, error) { return exchange(s.conns, s.message, s.answer, d) })
}

// account adds the servers' CPU time to a result.
func (r *Result) account(ours, raw *side, op string) {
	if ours.cpu == 0 || raw.cpu == 0 || ours.ops == 0 || raw.ops == 0 {
		return
	}
	limit := raw.cpu / time.Duration(raw.ops)
	r.cost = ours.cpu / time.Duration(ours.ops)
	r.Note = fmt.Sprintf("server CPU per %s: %s, raw %s, ratio %.2f", op, took(r.cost), took(limit), float64(limit)/float64(r.cost))
}

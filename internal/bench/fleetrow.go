package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"parley.internal/internal/bench/role"
	"parley.internal/internal/bench/system"
)

// fleetRow: a simulated fleet on one hub.
func fleetRow() Row {
	return Row{Name: "fleet", What: "a simulated fleet: connecting, telemetry stored, memory, calls, coming back after the hub was killed", Run: runFleet}
}

// From the list of what to reach.
const (
	machineMost = 40 << 10
	callMost    = float64(10 * time.Millisecond)
	backMost    = float64(2 * time.Minute)
)

func runFleet(ctx context.Context, env *Env) (results []Result, err error) {
	n := env.machines
	if n <= 0 {
		n = pick(env, 2_000, 40)
	}
	if can := env.affordable([]int{n}, 1); len(can) == 0 {
		return nil, fmt.Errorf("%s machines need as many open files in the hub's process, and the system allows a process %s (ulimit -Hn): that is its limit, not the hub's",
			thousands(int64(n)), thousands(int64(system.OpenFiles())))
	}
	env.say("enrolling %s machines", thousands(int64(n)))
	f := &benchFleet{n: n, db: filepath.Join(env.Dir, "fleet.db")}
	defer f.close()
	if f.hub, err = env.start(ctx, "machines", f.db, strconv.Itoa(n)); err != nil {
		return nil, err
	}
	if err := f.populate(ctx, env); err != nil {
		return nil, err
	}
	for _, step := range []func(context.Context, *Env) (Result, error){f.connect, f.telemetry, f.memory, f.calls, f.restart} {
		r, err := step(ctx, env)
		if err != nil {
			return results, err
		}
		results = append(results, r)
	}
	return results, nil
}

// benchFleet is one hub and the processes that play its machines.
type benchFleet struct {
	n      int
	db     string
	hub    *role.Child
	flocks []*role.Child
	starts []int // the first machine of each process, and the number of all
	before role.Usage
}

func (f *benchFleet) close() {
	for _, c := range f.flocks {
		c.Stop()
	}
	if f.hub != nil {
		f.hub.Stop()
	}
}

// populate starts as many processes of machines as their open files ask for.
func (f *benchFleet) populate(ctx context.Context, env *Env) error {
	each := min(system.OpenFiles()-500, 15_000)
	for first := 0; first < f.n; first += each {
		here := min(each, f.n-first)
		c, err := env.start(ctx, "endpoints", f.hub.Hello.Addr, strconv.Itoa(first), strconv.Itoa(here), sourceOf(len(f.flocks)))
		if err != nil {
			return err
		}
		f.flocks, f.starts = append(f.flocks, c), append(f.starts, first)
	}
	f.starts = append(f.starts, f.n)
	return nil
}

// ask has a process do what a line says.
func ask(c *role.Child, line string) (t told, err error) {
	if err := c.Tell(line); err != nil {
		return t, err
	}
	if err := c.Read(&t); err != nil {
		return t, err
	}
	if t.Error != "" {
		err = errors.New(t.Error)
	}
	return t, err
}

// askAll has all processes do the same at once.
func (f *benchFleet) askAll(line string) (refused int64, err error) {
	var g errgroup.Group
	answers := make([]told, len(f.flocks))
	for i, c := range f.flocks {
		g.Go(func() (err error) {
			answers[i], err = ask(c, line)
			return err
		})
	}
	err = g.Wait()
	for _, t := range answers {
		refused += t.Refused
	}
	return refused, err
}

// connect brings all machines in.
func (f *benchFleet) connect(_ context.Context, env *Env) (r Result, err error) {
	env.say("connecting")
	if f.before, err = f.hub.Usage(true); err != nil {
		return r, err
	}
	began := time.Now()
	if _, err := f.askAll("connect"); err != nil {
		return r, err
	}
	spent := time.Since(began)
	r = Result{Case: "connecting, " + count(f.n, "machine"), Ours: rate(float64(f.n), spent)}
	r.Note = fmt.Sprintf("handshakes; to reach: 500/s on 8 cores. All after %s, %d at a time, from %s", spent.Round(time.Millisecond), connectAtOnce*len(f.flocks), countAs(len(f.flocks), "process", "processes"))
	return r, nil
}

func countAs(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return thousands(int64(n)) + " " + more
}

// pushAtOnce keeps a hub from dropping: it drops what comes faster than it stores,
// and machines do not push all at once.
const pushAtOnce = 256

// telemetry has every machine push once and waits until all of it is stored.
func (f *benchFleet) telemetry(ctx context.Context, env *Env) (Result, error) {
	env.say("telemetry")
	began := time.Now()
	for i, c := range f.flocks {
		for from := f.starts[i]; from < f.starts[i+1]; from += pushAtOnce {
			to := min(from+pushAtOnce, f.starts[i+1])
			if _, err := ask(c, fmt.Sprintf("push %d %d", from, to)); err != nil {
				return Result{}, err
			}
			if err := f.stored(ctx, to); err != nil {
				return Result{}, err
			}
		}
	}
	return Result{Case: "telemetry stored", Ours: rate(float64(f.n), time.Since(began)), Note: "to reach: 100/s on 8 cores"}, nil
}

// stored waits until that many machines have a snapshot in the hub's store.
func (f *benchFleet) stored(ctx context.Context, n int) error {
	from := &simulated{addr: f.hub.Hello.Addr}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		text, err := from.get(ctx, "/bench/stored")
		if err != nil {
			return err
		}
		if got, err := strconv.Atoi(text); err != nil || got >= n {
			return err
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// memory tells what a machine costs the hub that has connected and reported.
func (f *benchFleet) memory(context.Context, *Env) (Result, error) {
	after, err := f.hub.Usage(true)
	if err != nil {
		return Result{}, err
	}
	return atMost("memory each, connected and reported", Figure{float64(after.RSS-f.before.RSS) / float64(f.n), Bytes}, machineMost), nil
}

// calls goes round the machines and tells how long a call takes beyond the
// machine's own time, which here is none.
func (f *benchFleet) calls(ctx context.Context, env *Env) (Result, error) {
	env.say("calls")
	from := &simulated{addr: f.hub.Hello.Addr}
	took := make([]int64, pick(env, 4_000, 100))
	step := max(1, f.n/len(took)) // all over the fleet
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	for i := range took {
		g.Go(func() error {
			text, err := from.get(ctx, "/bench/call/"+role.MachineName(i*step%f.n))
			if err == nil {
				took[i], err = strconv.ParseInt(strings.TrimSpace(text), 10, 64)
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return Result{}, err
	}
	slices.Sort(took)
	p99 := took[len(took)*99/100]
	r := atMost("call overhead, p99", Figure{float64(p99), Nanos}, callMost)
	r.Note = fmt.Sprintf("half of them within %s, 8 at a time, all machines connected", time.Duration(took[len(took)/2]).Round(time.Microsecond))
	return r, nil
}

// restart kills the hub, starts it again on its data, and waits until every machine
// is back. They all notice at once.
func (f *benchFleet) restart(ctx context.Context, env *Env) (r Result, err error) {
	env.say("killing the hub")
	addr := f.hub.Hello.Addr
	_ = f.hub.Cmd.Process.Kill()
	f.hub.Stop()
	began := time.Now()
	if f.hub, err = env.start(ctx, "machines", f.db, "0", "", "bench", addr); err != nil {
		return r, err
	}
	ready := time.Since(began)
	env.say("the hub is there again, the machines come back")
	refused, err := f.askAll("back")
	if err != nil {
		return r, err
	}
	spent := time.Since(began)
	r = atMost("all back after a kill", took(spent), backMost)
	r.Note = fmt.Sprintf("the hub was ready after %s; %s attempts failed meanwhile", ready.Round(time.Millisecond), thousands(refused))
	return r, nil
}

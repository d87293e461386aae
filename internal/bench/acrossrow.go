package bench

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"parley.internal/internal/bench/role"
)

// acrossRow: what it costs that a machine is connected to another hub.
func acrossRow() Row {
	return Row{Name: "across", What: "calls to machines that another hub has, over NATS and PostgreSQL, against calls of the hub that has them", Run: runAcross}
}

// acrossMost is the overhead of a call between hubs to stay below.
const acrossMost = float64(25 * time.Millisecond)

func runAcross(ctx context.Context, env *Env) ([]Result, error) {
	if env.db == "" || env.nats == "" {
		return nil, missing("needs a PostgreSQL server and NATS: --db postgres://… --nats nats://…")
	}
	target, drop, err := newDatabase(ctx, env.db)
	if err != nil {
		return nil, err
	}
	defer drop()
	n := pick(env, 60, 12)
	var hubs []*role.Child
	defer func() {
		for _, h := range slices.Backward(hubs) {
			h.Stop()
		}
	}()
	for i := range 3 {
		enrol := 0
		if i == 0 {
			enrol = n
		}
		h, err := env.start(ctx, "machines", target, strconv.Itoa(enrol), env.nats, fmt.Sprint("bench-", i))
		if err != nil {
			return nil, err
		}
		hubs = append(hubs, h)
	}
	fl := &simulated{addr: hubs[0].Hello.Addr}
	defer fl.close()
	if _, err := fl.connect(ctx, env, hubs[0], n); err != nil {
		return nil, err
	}
	for _, h := range hubs[1:] {
		if err := reachable(ctx, h, n); err != nil {
			return nil, err
		}
	}
	return acrossSteps(ctx, env, hubs, n)
}

// acrossSteps calls in turns: at the hub that has the machines, at one other and
// at two others.
func acrossSteps(ctx context.Context, env *Env, hubs []*role.Child, n int) ([]Result, error) {
	sides := []*caller{{at: hubs[:1]}, {at: hubs[1:2]}, {at: hubs[1:]}}
	for range pick(env, 5, 2) {
		for _, s := range sides {
			if err := s.work(ctx, n, pick(env, 2*time.Second, 200*time.Millisecond)); err != nil {
				return nil, err
			}
		}
	}
	var results []Result
	for i, s := range sides[1:] {
		r := compare(fmt.Sprintf("%d hubs, called at %s", i+2, count(i+1, "other")), s.rate(), sides[0].rate(), 0.7)
		r.Note = fmt.Sprintf("%d at a time; p99 %s, at the hub that has them %s", callersAtOnce, took(s.p99()), took(sides[0].p99()))
		results = append(results, r)
	}
	return append(results, atMost("call overhead across hubs, p99", took(sides[1].p99()), acrossMost)), nil
}

const callersAtOnce = 8

// caller makes calls at some hubs and keeps account.
type caller struct {
	at    []*role.Child
	took  []time.Duration
	spent time.Duration
}

// work calls the machines one after the other, some at a time.
func (c *caller) work(ctx context.Context, n int, d time.Duration) error {
	began := time.Now()
	var next atomic.Int64
	parts := make([][]time.Duration, callersAtOnce)
	g, ctx := errgroup.WithContext(ctx)
	for w := range parts {
		from := &simulated{addr: c.at[w%len(c.at)].Hello.Addr}
		g.Go(func() error {
			for time.Since(began) < d {
				text, err := from.get(ctx, "/bench/call/"+role.MachineName(int(next.Add(1))%n))
				if err != nil {
					return err
				}
				ns, err := strconv.ParseInt(text, 10, 64)
				if err != nil {
					return err
				}
				parts[w] = append(parts[w], time.Duration(ns))
			}
			return nil
		})
	}
	err := g.Wait()
	c.spent += time.Since(began)
	c.took = append(c.took, slices.Concat(parts...)...)
	return err
}

func (c *caller) rate() Figure { return rate(float64(len(c.took)), c.spent) }

func (c *caller) p99() time.Duration {
	slices.Sort(c.took)
	return c.took[len(c.took)*99/100]
}

// reachable waits until a hub knows that all machines are connected elsewhere.
func reachable(ctx context.Context, h *role.Child, n int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	from := &simulated{addr: h.Hello.Addr}
	for i := range n {
		for {
			_, err := from.get(ctx, "/bench/call/"+role.MachineName(i))
			if err == nil {
				break
			}
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
				return fmt.Errorf("a hub does not reach the machines of another: %w", err)
			}
		}
	}
	return nil
}

// newDatabase makes an empty database on a server; drop takes it away again.
func newDatabase(ctx context.Context, server string) (target string, drop func(), err error) {
	u, err := url.Parse(server)
	if err != nil || !strings.HasPrefix(u.Scheme, "postgres") {
		return "", nil, errors.New("--db is no address of a PostgreSQL server, such as postgres://USER:PASSWORD@HOST/NAME")
	}
	random := make([]byte, 6)
	if _, err := rand.Read(random); err != nil {
		return "", nil, err
	}
	name := "parleybench_" + hex.EncodeToString(random)
	do := func(ctx context.Context, sql string) error {
		c, err := pgx.Connect(ctx, server)
		if err != nil {
			return err
		}
		defer func() { _ = c.Close(ctx) }()
		_, err = c.Exec(ctx, sql)
		return err
	}
	if err := do(ctx, "CREATE DATABASE "+name); err != nil {
		return "", nil, err
	}
	mine := *u
	mine.Path = "/" + name
	return mine.String(), func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = do(ctx, "DROP DATABASE "+name+" WITH (FORCE)") // what stays is empty of anything of value
	}, nil
}

package bench

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"time"

	"parley.internal/internal/bench/role"
	"parley.internal/internal/eventlog"
	"parley.internal/internal/hub"
	"parley.internal/internal/hub/config"
)

// startRow: how long nobody is served after a restart.
func startRow() Row {
	return Row{Name: "start", What: "from starting the process to a hub that is ready", Run: runStart}
}

// What to reach, in a data folder that is new or small, and in a big one.
const (
	startSmall = 300 * time.Millisecond
	startBig   = time.Second
)

func runStart(ctx context.Context, env *Env) ([]Result, error) {
	first, err := timeStart(ctx, env, filepath.Join(env.Dir, "first"), 1)
	if err != nil {
		return nil, err
	}
	results := []Result{atMost("the very first, which makes everything", took(first), float64(startSmall))}
	data := filepath.Join(env.Dir, "data")
	if _, err := timeStart(ctx, env, data, 1); err != nil {
		return results, err
	}
	var steps []Result
	have := int64(0)
	for _, size := range pick(env, []int64{0, 10 << 20, 100 << 20, 1 << 30}, []int64{0, 10 << 20}) {
		if err := fill(ctx, env, data, size-have); err != nil {
			return append(results, steps...), err
		}
		have = size
		d, err := timeStart(ctx, env, data, pick(env, 5, 2))
		if err != nil {
			return append(results, steps...), err
		}
		most := startSmall
		if size >= 1<<30 {
			most = startBig
		}
		steps = append(steps, atMost("with "+Figure{float64(size), Bytes}.String()+" of events", took(d), float64(most)))
	}
	grow(steps, perOp(steps))
	return append(results, steps...), nil
}

// timeStart is the median of several starts.
func timeStart(ctx context.Context, env *Env, data string, times int) (time.Duration, error) {
	took := make([]time.Duration, times)
	for i := range took {
		started := time.Now()
		c, err := env.start(ctx, "hub", data)
		if err != nil {
			return 0, err
		}
		took[i] = time.Since(started)
		c.Stop()
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}

// fill adds so many bytes of events to the hub's database.
func fill(ctx context.Context, env *Env, data string, size int64) error {
	if size <= 0 {
		return nil
	}
	env.say("writing %s of events", Figure{float64(size), Bytes})
	j, err := openJournal(ctx, data)
	if err != nil {
		return err
	}
	defer j.close()
	const each, batch = 4 << 10, 500
	events := make([]eventlog.Event, batch)
	for i := range events {
		events[i] = eventlog.Event{Kind: "output", Data: make([]byte, each)}
	}
	for i := int64(0); i*each*batch < size; i++ {
		if _, err := j.Append(ctx, nil, fmt.Sprintf("filling.%d", i%1000), events...); err != nil {
			return err
		}
	}
	return nil
}

// startHub is the role: a hub as `parley serve` runs it. A second word is what its
// meeting place promises; see the setting place.sync.
func startHub(ctx context.Context, args []string) (*role.Server, error) {
	conf, err := config.Load(config.Sources{Data: args[0], Flags: map[string]string{"listen": "127.0.0.1:0", "shutdown-grace": "1s"}})
	if err != nil {
		return nil, err
	}
	if len(args) > 1 {
		conf.Place.Sync = args[1]
	}
	return runHub(ctx, conf)
}

// runHub serves until it is closed.
func runHub(ctx context.Context, conf config.Config) (*role.Server, error) {
	h, err := hub.Open(ctx, conf, hub.Options{Version: "bench"})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ready, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- h.Run(ctx, func(r hub.Ready) error { ready <- r.URL; return nil })
	}()
	stop := func() { cancel(); <-ended; h.Close() }
	select {
	case err := <-ended:
		ended <- err
		stop()
		return nil, err
	case url := <-ready:
		// Ready is when somebody can really connect.
		c, err := new(net.Dialer).DialContext(ctx, "tcp", url[len("http://"):])
		if err != nil {
			stop()
			return nil, err
		}
		_ = c.Close()
		return &role.Server{Hello: role.Hello{Addr: url}, Close: stop}, nil
	}
}

package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"parley.internal/internal/bench/role"
	"parley.internal/protocol/kenny"
)

// endpoints is the role: some of the machines of a simulated fleet, in a process
// of their own, since a process may open only so many files. They answer calls and
// pings, and come back by themselves when the hub goes away. Arguments: the hub's
// address, the first machine's number, how many, and the address to come from.
func endpoints(_ context.Context, args []string) (*role.Server, error) {
	first, err1 := strconv.Atoi(args[1])
	n, err2 := strconv.Atoi(args[2])
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	f := &flock{addr: args[0], source: args[3], first: first, machines: make([]simulatedMachine, n), gate: make(chan struct{}, connectAtOnce)}
	return &role.Server{Answer: func(line string) any { return f.obey(ctx, line) }, Close: func() {
		cancel()
		f.cut()
		f.live.Wait()
	}}, nil
}

// connectAtOnce is how many machines of a process connect at a time when the fleet
// is brought in, as in the row handshakes. After the hub was away they come as
// they like.
const connectAtOnce = 16

// flock is the machines of one process.
type flock struct {
	addr, source string
	first        int
	machines     []simulatedMachine
	gate         chan struct{}
	live         sync.WaitGroup

	up, cuts atomic.Int64 // connected now; connections that ended so far
	refused  atomic.Int64 // attempts to come in that failed
}

type simulatedMachine struct{ conn atomic.Pointer[net.Conn] }

// told is the answer to every line.
type told struct {
	Up      int64         `json:"up"`
	Refused int64         `json:"refused"`
	Took    time.Duration `json:"took"`
	Error   string        `json:"error,omitempty"`
}

// obey knows three lines: connect, back (all were cut and are connected again) and
// push FROM TO, telemetry of those machines.
func (f *flock) obey(ctx context.Context, line string) told {
	began := time.Now()
	words := strings.Fields(line)
	var err error
	switch {
	case len(words) == 1 && words[0] == "connect":
		for i := range f.machines {
			f.live.Go(func() { f.machine(ctx, i) })
		}
		err = f.await(ctx, func() bool { return f.up.Load() == int64(len(f.machines)) })
	case len(words) == 1 && words[0] == "back":
		n := int64(len(f.machines))
		err = f.await(ctx, func() bool { return f.cuts.Load() >= n && f.up.Load() == n })
	case len(words) == 3 && words[0] == "push":
		err = f.push(words[1], words[2])
	default:
		err = fmt.Errorf("cannot %q", line)
	}
	t := told{Up: f.up.Load(), Refused: f.refused.Load(), Took: time.Since(began)}
	if err != nil {
		t.Error = err.Error()
	}
	return t
}

// patience bounds every wait for machines; more than the two minutes a fleet may take.
const patience = 5 * time.Minute

func (f *flock) await(ctx context.Context, done func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for !done() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d machines are connected after %s", f.up.Load(), len(f.machines), patience)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}

// machine lives: it connects, serves, and comes back with the back-off of the
// protocol.
func (f *flock) machine(ctx context.Context, i int) {
	wait := time.Second
	f.gate <- struct{}{}
	release := sync.OnceFunc(func() { <-f.gate })
	defer release()
	for ctx.Err() == nil {
		conn, err := f.dial(ctx, i)
		if err != nil {
			f.refused.Add(1)
		} else {
			release()
			f.machines[i].conn.Store(&conn)
			f.up.Add(1)
			err = answerCalls(conn)
			f.up.Add(-1)
			f.cuts.Add(1)
			_ = conn.Close()
			wait = time.Second
		}
		pause := wait/2 + rand.N(wait/2) //nolint:gosec // spreads, keeps no secret
		if closed, ok := errors.AsType[hubClosed](err); ok && closed.code() == kenny.CloseRestart {
			pause = rand.N(15 * time.Second) //nolint:gosec // as above
		}
		wait = min(2*wait, time.Minute)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// dial connects one machine up to its policy, in the time a real one gives it.
func (f *flock) dial(ctx context.Context, i int) (net.Conn, error) {
	d := net.Dialer{Timeout: 30 * time.Second}
	if f.source != "" {
		d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(f.source)}
	}
	c, err := d.DialContext(ctx, "tcp", f.addr)
	if err != nil {
		return nil, err
	}
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	if err := machineHandshake(c, f.first+i); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, c.SetDeadline(time.Time{})
}

func (f *flock) push(from, to string) error {
	first, err1 := strconv.Atoi(from)
	last, err2 := strconv.Atoi(to)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	for i := first; i < last; i++ {
		conn := f.machines[i-f.first].conn.Load()
		if conn == nil {
			return errors.New("a machine is not connected")
		}
		if _, err := (*conn).Write(longFrame(snapshotOf(i))); err != nil {
			return err
		}
	}
	return nil
}

func (f *flock) cut() {
	for i := range f.machines {
		if conn := f.machines[i].conn.Load(); conn != nil {
			_ = (*conn).Close()
		}
	}
}

// sourceOf is the address the k-th process comes from. An address has some 28,000
// ports to one hub; Linux has all of 127.0.0.0/8, others only the first.
func sourceOf(k int) string {
	if k == 0 || runtime.GOOS != "linux" {
		return ""
	}
	return fmt.Sprintf("127.0.0.%d", 1+k)
}

// snapshotOf is telemetry of a usual size.
func snapshotOf(i int) []byte {
	var rows strings.Builder
	for p := range 15 {
		fmt.Fprintf(&rows, `{"pid":%d,"name":"process-%d","cpu":%d.5,"mem_bytes":%d},`, 1000+p, p, p, (p+1)<<20)
	}
	return fmt.Appendf(nil, `{"type":"telemetry","agent_id":%q,"collected_at":%q,"snapshot":{"disk":{"status":"ok","summary":"fine","volumes":[{"mount":"/","total_bytes":511000000000,"free_bytes":300000000000,"percent_used":%d}],"top_dirs":[]},"memory":{"status":"ok","summary":"fine","percent_used":%d},"processes":{"status":"ok","summary":"15 of 200","count":200,"processes":[%s]},"uptime":{"status":"ok","summary":"3 days","uptime_secs":259200}}}`,
		role.MachineName(i), time.Now().UTC().Format(time.RFC3339), 20+i%50, 10+i%60, strings.TrimSuffix(rows.String(), ","))
}

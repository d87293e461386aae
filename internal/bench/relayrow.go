package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"parley.internal/internal/bench/role"
	"parley.internal/protocol/mmp"
)

// relayRow: sealed messages at the meeting place.
func relayRow() Row {
	return Row{
		Name: "relay", Run: runRelay,
		What: "a sealed message of 1.1 kB queued durably, by the place's handler and over HTTP at a whole hub, against append + flush of the bare disk",
	}
}

// relayed is a hub in a process of its own, and connections to it. The clients do
// next to nothing, so that what the machine does is the hub's work.
type relayed struct {
	hub   *role.Child
	conns []*relayConn
	next  atomic.Int64
	// before and after stand around the recipient in a request to send.
	before, after string
}

func openRelay(ctx context.Context, env *Env, name string) (*relayed, error) {
	return openRelaySync(ctx, env, name, "full")
}

// openRelaySync says what the place promises; see the setting place.sync.
func openRelaySync(ctx context.Context, env *Env, name, sync string) (*relayed, error) {
	hub, err := env.start(ctx, "hub", filepath.Join(env.Dir, name), sync)
	if err != nil {
		return nil, err
	}
	blob := strings.Repeat("QUJDRA==", 140)
	r := &relayed{
		hub: hub, before: `{"from":"ada","to":"`,
		after: `","encrypted_blob":"` + blob + `","blob_hash":"` + mmp.HashOf(blob).Prefixed() + `","message_type":"bench"}`,
	}
	for range inFlight[len(inFlight)-1].n {
		r.conns = append(r.conns, &relayConn{addr: strings.TrimPrefix(hub.Hello.Addr, "http://")})
	}
	return r, nil
}

func (r *relayed) close() {
	for _, c := range r.conns {
		if c.Conn != nil {
			_ = c.Close()
		}
	}
	r.hub.Stop()
}

// cpu is what the hub has used so far.
func (r *relayed) cpu() time.Duration {
	u, err := r.hub.Usage(false)
	if err != nil {
		return 0
	}
	return u.CPU
}

// relayConn is one connection, used by one client and made when it is first used:
// a hub does not keep those who say nothing.
type relayConn struct {
	net.Conn
	addr string
	in   *bufio.Reader
	out  []byte
	// took are the times of requests, for percentiles.
	took []time.Duration
}

// call makes a request and reads the answer, of which only the status matters.
func (c *relayConn) call(head string, want int, body ...string) error {
	c.out = appendRequest(c.out[:0], head, body...)
	return c.exchange(c.out, want)
}

// exchange is call for a request that is written already.
func (c *relayConn) exchange(request []byte, want int) error {
	if c.Conn == nil {
		conn, err := dialTCP(c.addr)(context.Background())
		if err != nil {
			return err
		}
		c.Conn, c.in = conn, bufio.NewReader(conn)
	}
	began := time.Now()
	if _, err := c.Write(request); err != nil {
		return err
	}
	status, answer, err := c.answer()
	c.took = append(c.took, time.Since(began))
	if err == nil && status != want {
		line, _, _ := bytes.Cut(request, []byte(" HTTP/"))
		err = fmt.Errorf("%s: %d %s", line, status, answer)
	}
	return err
}

// appendRequest writes a request; head is its method and path.
func appendRequest(to []byte, head string, body ...string) []byte {
	size := 0
	for _, b := range body {
		size += len(b)
	}
	to = append(append(to, head...), " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: "...)
	to = append(strconv.AppendInt(to, int64(size), 10), "\r\n\r\n"...)
	for _, b := range body {
		to = append(to, b...)
	}
	return to
}

// asking is what clients are about: so many requests after each other.
type asking struct {
	turns int
	// next appends a client's request and tells the status of the answer that is due.
	next func(who, turn int, to []byte) (request []byte, want int)
}

func (c *relayConn) answer() (status int, body []byte, err error) {
	size := 0
	for first := true; ; first = false {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return 0, nil, err
		}
		switch line = bytes.TrimRight(line, "\r\n"); {
		case first:
			if len(line) < 12 {
				return 0, nil, io.ErrUnexpectedEOF
			}
			status, _ = strconv.Atoi(string(line[9:12]))
		case len(line) == 0:
			body = make([]byte, size)
			_, err := io.ReadFull(c.in, body)
			return status, body, err
		case bytes.HasPrefix(line, []byte("Content-Length: ")):
			size, _ = strconv.Atoi(string(line[len("Content-Length: "):]))
		}
	}
}

func (r *relayed) send(who int, to string) error {
	return r.conns[who].call("POST /place/v1/relay/send", 201, r.before, to, r.after)
}

func (r *relayed) receive(who int, from string) error {
	return r.conns[who].call("GET /place/v1/relay/receive?agent_id="+from, 200)
}

func (r *relayed) askSend(_, _ int, to []byte) ([]byte, int) {
	return appendRequest(to, "POST /place/v1/relay/send", r.before, r.anywhere(), r.after), 201
}

func (r *relayed) askPair(who, turn int, to []byte) ([]byte, int) {
	name := "pair" + strconv.Itoa(who)
	if turn == 0 {
		return appendRequest(to, "POST /place/v1/relay/send", r.before, name, r.after), 201
	}
	return appendRequest(to, "GET /place/v1/relay/receive?agent_id="+name), 200
}

func (r *relayed) askRegister(_, _ int, to []byte) ([]byte, int) {
	return appendRequest(to, "POST /place/v1/register", `{"id":"a`+strconv.FormatInt(r.next.Add(1), 10)+`","name":"bench"}`), 200
}

// anywhere is a queue; every one is kept below its limit.
func (r *relayed) anywhere() string { return "q" + strconv.FormatInt(r.next.Add(1)/90, 10) }

// sendAnywhere keeps every queue below its limit.
func (r *relayed) sendAnywhere(who int) error {
	return r.send(who, r.anywhere())
}

// p99 of the requests since it was asked last.
func (r *relayed) p99() string {
	var all []time.Duration
	for _, c := range r.conns {
		all, c.took = append(all, c.took...), nil
	}
	return percentiles(all)
}

func percentiles(all []time.Duration) string {
	if len(all) == 0 {
		return ""
	}
	slices.Sort(all)
	return "; of a request: p50 " + took(all[len(all)/2]).String() + ", p99 " + took(all[len(all)*99/100]).String()
}

func runRelay(ctx context.Context, env *Env) ([]Result, error) {
	r, err := openRelay(ctx, env, "relay")
	if err != nil {
		return nil, err
	}
	defer r.close()
	d, err := openDisk(env.Dir)
	if err != nil {
		return nil, err
	}
	defer d.close()
	results, err := relayHandler(ctx, env, d)
	if err != nil {
		return results, err
	}
	measure := func(name string, least float64, clients int, ask asking) error {
		drive, err := r.drive(ctx, clients, ask)
		if err != nil {
			return err
		}
		defer drive.close()
		one, err := writing{inFlight: clients, all: drive.run, cpu: r.cpu}.against(env, d, name, least)
		if err == nil {
			one.Note += percentiles(drive.times())
			results = append(results, one)
		}
		return err
	}
	for _, f := range inFlight {
		least := 0.0
		if f.n == 1 {
			least = oneClient
		}
		if err := measure(fmt.Sprintf("send over HTTP, %s", count(f.n, "client")), least, f.n, asking{1, r.askSend}); err != nil {
			return results, err
		}
	}
	if err := measure("send and receive over HTTP, 32 clients; to reach: 6,000/s", 0, 32, asking{2, r.askPair}); err != nil {
		return results, err
	}
	for _, f := range []struct {
		name string
		n    int
	}{{"registration over HTTP, 1 client; CPU to reach: 150 µs", 1}, {"registration over HTTP, 32 clients; to reach: 20,000/s", 32}} {
		if err := measure(f.name, 0, f.n, asking{1, r.askRegister}); err != nil {
			return results, err
		}
	}
	for _, more := range []func(context.Context, *Env) ([]Result, error){relaySoft, relayPolls, relayMemory, relayCrowd} {
		found, err := more(ctx, env)
		if results = append(results, found...); err != nil {
			return results, err
		}
	}
	return results, nil
}

// oneClient is what a single client is to reach of the disk's rate, with HTTP around
// each message.
const oneClient = 0.5

// relaySoft: one client of a place that does not wait for the disk.
func relaySoft(ctx context.Context, env *Env) ([]Result, error) {
	r, err := openRelaySync(ctx, env, "soft", "os")
	if err != nil {
		return nil, err
	}
	defer r.close()
	env.say("send over HTTP, 1 client, place.sync: os")
	n, spent, err := writing{inFlight: 1, write: r.sendAnywhere}.run(pick(env, 3*time.Second, 100*time.Millisecond))
	if err != nil {
		return nil, err
	}
	return []Result{{Case: "send over HTTP, 1 client, place.sync: os; to reach: 4,000/s", Ours: rate(float64(n), spent), Note: strings.TrimPrefix(r.p99(), "; ")}}, nil
}

// relayCrowd: a receive costs the same whatever waits for others.
func relayCrowd(ctx context.Context, env *Env) ([]Result, error) {
	var places [2]*relayed
	for i := range places {
		r, err := openRelay(ctx, env, fmt.Sprintf("crowd%d", i))
		if err != nil {
			return nil, err
		}
		defer r.close()
		places[i] = r
	}
	waiting := pick(env, 100_000, 1_000)
	env.say("filling %s", count(waiting, "message"))
	fill := writing{inFlight: 256, write: func(who int) error {
		if places[1].next.Load() >= int64(waiting) {
			return errFull
		}
		return places[1].sendAnywhere(who)
	}}
	if _, _, err := fill.run(10 * time.Minute); !errors.Is(err, errFull) {
		return nil, err
	}
	var n [2]int
	var spent [2]time.Duration
	for range pick(env, 20, 4) {
		for i, r := range places {
			took, err := r.receives(pick(env, 100, 10))
			if err != nil {
				return nil, err
			}
			n[i], spent[i] = n[i]+pick(env, 100, 10), spent[i]+took
		}
	}
	return []Result{compare(fmt.Sprintf("receive, %s waiting elsewhere, against none", count(waiting, "message")),
		rate(float64(n[1]), spent[1]), rate(float64(n[0]), spent[0]), 1/1.2)}, nil
}

var errFull = errors.New("full")

// receives times receives of one message each; the sends before are not counted.
func (r *relayed) receives(times int) (took time.Duration, err error) {
	for range times {
		if err := r.send(0, "me"); err != nil {
			return 0, err
		}
		began := time.Now()
		if err := r.receive(0, "me"); err != nil {
			return 0, err
		}
		took += time.Since(began)
	}
	return took, nil
}

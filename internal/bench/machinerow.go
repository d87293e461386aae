package bench

import (
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"parley.internal/internal/bench/role"
	"parley.internal/internal/bench/system"
	"parley.internal/protocol/kenny"
)

// handshakesRow: what it takes to let a machine in.
func handshakesRow() Row {
	return Row{Name: "handshakes", What: "machine handshakes (TCP, WebSocket, mutual Ed25519, register, policy), in CPU time against one sign, one verify and an upgrade", Run: runHandshakes}
}

// tunnelRow: request and response through the machines' real handler.
func tunnelRow() Row {
	return Row{Name: "tunnel", What: "small JSON request → response on every machine's tunnel at once, against raw TCP", Run: runTunnel}
}

// wsRequest asks for the tunnel.
var wsRequest = strings.Replace(handshake, "GET /ws ", "GET /agent/ws ", 1)

// longFrame is a client's text frame of any length, masked by zero.
func longFrame(data []byte) []byte {
	head := []byte{0x81}
	switch {
	case len(data) <= 125:
		head = append(head, 0x80|byte(len(data)))
	case len(data) <= 0xffff:
		head = binary.BigEndian.AppendUint16(append(head, 0x80|126), uint16(len(data)))
	default:
		head = binary.BigEndian.AppendUint64(append(head, 0x80|127), uint64(len(data)))
	}
	return append(append(head, 0, 0, 0, 0), data...)
}

// readFrame reads one frame of a server.
func readFrame(c io.Reader) ([]byte, error) {
	var head [10]byte
	if _, err := io.ReadFull(c, head[:2]); err != nil {
		return nil, err
	}
	size, more := uint64(head[1]&0x7f), 0
	switch size {
	case 126:
		more = 2
	case 127:
		more = 8
	}
	if more > 0 {
		if _, err := io.ReadFull(c, head[2:2+more]); err != nil {
			return nil, err
		}
		size = uint64(binary.BigEndian.Uint16(head[2:]))
		if more == 8 {
			size = binary.BigEndian.Uint64(head[2:])
		}
	}
	data := make([]byte, size)
	_, err := io.ReadFull(c, data)
	if err == nil && head[0]&0x0f == 8 {
		err = hubClosed(data)
	}
	return data, err
}

// hubClosed is what a close frame says.
type hubClosed []byte

func (h hubClosed) Error() string { return fmt.Sprintf("the hub closed: %q", []byte(h)) }

func (h hubClosed) code() kenny.CloseCode {
	if len(h) < 2 {
		return 0
	}
	return kenny.CloseCode(binary.BigEndian.Uint16(h))
}

// dialMachine connects one simulated machine up to its policy.
func dialMachine(ctx context.Context, addr string, i int) (net.Conn, error) {
	c, err := dialTCP(addr)(ctx)
	if err != nil {
		return nil, err
	}
	if err := machineHandshake(c, i); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

func machineHandshake(c net.Conn, i int) error {
	if err := upgrade(c, wsRequest); err != nil {
		return err
	}
	nonce := make([]byte, kenny.NonceSize)
	binary.BigEndian.PutUint64(nonce, uint64(i))
	register, err := kenny.Encode(&kenny.Register{
		AgentID: role.MachineName(i), Protocol: kenny.Version, ClientNonce: nonce, Meta: kenny.Meta{Hostname: role.MachineName(i), OS: kenny.Linux, Version: "1.0.0"},
	})
	if err != nil {
		return err
	}
	if _, err := c.Write(longFrame(register)); err != nil {
		return err
	}
	data, err := readFrame(c)
	if err != nil {
		return err
	}
	frame, err := kenny.Decode(data)
	challenge, ok := frame.(*kenny.Challenge)
	if err != nil || !ok {
		return errors.Join(err, errors.New("no challenge"))
	}
	transcript, err := kenny.Transcript(role.MachineName(i), nonce, challenge.ServerNonce)
	if err != nil {
		return err
	}
	auth, err := kenny.Encode(&kenny.Auth{AgentSig: ed25519.Sign(role.MachineKey(i), transcript)})
	if err != nil {
		return err
	}
	if _, err := c.Write(longFrame(auth)); err != nil {
		return err
	}
	data, err = readFrame(c)
	if err != nil {
		return err
	}
	if frame, err := kenny.Decode(data); err != nil || frame.Type() != kenny.TypePolicy {
		return errors.Join(err, errors.New("no policy"))
	}
	return nil
}

// dialMachines connects the first n machines; the i-th connection is the i-th's.
func dialMachines(ctx context.Context, addr string, n int) ([]net.Conn, error) {
	conns := make([]net.Conn, n)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for i := range conns {
		g.Go(func() (err error) {
			conns[i], err = dialMachine(ctx, addr, i)
			return err
		})
	}
	err := g.Wait()
	if err != nil {
		hangUp(conns)
	}
	return conns, err
}

func runHandshakes(ctx context.Context, env *Env) ([]Result, error) {
	n := pick(env, 3_000, 60)
	c, err := env.start(ctx, "machines", filepath.Join(env.Dir, "handshakes.db"), strconv.Itoa(n))
	if err != nil {
		return nil, err
	}
	defer c.Stop()
	before, err := c.Usage(false)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	conns, err := dialMachines(ctx, c.Hello.Addr, n)
	spent := time.Since(began)
	defer func() { hangUp(conns) }()
	if err != nil {
		return nil, err
	}
	after, err := c.Usage(false)
	if err != nil {
		return nil, err
	}
	ours := (after.CPU - before.CPU) / time.Duration(n)
	bare, err := bareHandshake(ctx, env, n)
	if err != nil {
		return nil, err
	}
	perSecond := func(d time.Duration) Figure { return rate(1, max(d, 1)) }
	r := compare(count(n, "machine"), perSecond(ours), perSecond(bare), 0.5)
	r.cost = ours
	r.Note = fmt.Sprintf("server CPU per handshake %s, bare %s; %s handshakes a second on the clock", took(ours), took(bare), thousands(int64(float64(n)/spent.Seconds())))
	return []Result{r}, nil
}

// bareHandshake is the CPU time of one upgrade, one signature and one check.
func bareHandshake(ctx context.Context, env *Env, n int) (time.Duration, error) {
	c, err := env.start(ctx, "ws-echo", "plain")
	if err != nil {
		return 0, err
	}
	defer c.Stop()
	before, err := c.Usage(false)
	if err != nil {
		return 0, err
	}
	conns, err := dialAll(ctx, n, dialWS(c.Hello))
	defer func() { hangUp(conns) }()
	if err != nil {
		return 0, err
	}
	after, err := c.Usage(false)
	if err != nil {
		return 0, err
	}
	key := role.MachineKey(0)
	public, _ := key.Public().(ed25519.PublicKey)
	transcript := make([]byte, 100)
	started := system.CPUTime()
	for i := range n {
		transcript[0] = byte(i)
		if !ed25519.Verify(public, transcript, ed25519.Sign(key, transcript)) {
			return 0, errors.New("a signature that was just made does not hold")
		}
	}
	return (after.CPU - before.CPU + system.CPUTime() - started) / time.Duration(n), nil
}

func runTunnel(ctx context.Context, env *Env) ([]Result, error) {
	var results []Result
	for _, n := range env.affordable(pick(env, []int{10, 100, 1_000}, []int{5, 20}), 2) {
		r, err := tunnelStep(ctx, env, n)
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

func tunnelStep(ctx context.Context, env *Env, n int) (Result, error) {
	env.say("%s", count(n, "machine"))
	ping := clientFrame(1, `{"type":"ping"}`)
	raw := &side{message: ping, answer: len(ping)}
	ours := &side{message: ping, answer: len(ping) - 4} // a server's frame has no mask
	defer raw.close()
	defer ours.close()
	if err := raw.open(ctx, env, n, "tcp-echo"); err != nil {
		return Result{}, err
	}
	var err error
	if ours.Child, err = env.start(ctx, "machines", filepath.Join(env.Dir, fmt.Sprintf("tunnel-%d.db", n)), strconv.Itoa(n)); err != nil {
		return Result{}, err
	}
	if ours.conns, err = dialMachines(ctx, ours.Hello.Addr, n); err != nil {
		return Result{}, err
	}
	return answersAgainst(env, count(n, "machine"), ours, raw)
}

// simulated is the machines of a fleet: they answer calls and pings.
type simulated struct {
	addr  string
	conns []net.Conn
	serve errgroup.Group
	over  atomic.Bool
}

func (s *simulated) close() {
	s.over.Store(true)
	hangUp(s.conns)
	_ = s.serve.Wait() // they ended because we hung up
}

// connect brings all machines in and tells what each costs while it is idle.
func (s *simulated) connect(ctx context.Context, env *Env, c *role.Child, n int) (Result, error) {
	env.say("connecting")
	before, err := c.Usage(true)
	if err != nil {
		return Result{}, err
	}
	began := time.Now()
	s.conns, err = dialMachines(ctx, s.addr, n)
	spent := time.Since(began)
	if err != nil {
		return Result{}, err
	}
	for _, conn := range s.conns {
		s.serve.Go(func() error { return answerCalls(conn) })
	}
	after, err := c.Usage(true)
	if err != nil {
		return Result{}, err
	}
	r := atMost("idle, "+count(n, "machine"), Figure{float64(after.RSS-before.RSS) / float64(n), Bytes}, machineMost)
	r.Note = fmt.Sprintf("all connected after %s, %s handshakes a second", spent.Round(time.Millisecond), thousands(int64(float64(n)/spent.Seconds())))
	return r, nil
}

// answerCalls is one machine: every request gets an empty result.
func answerCalls(c net.Conn) error {
	for {
		data, err := readFrame(c)
		if err != nil {
			return err
		}
		frame, err := kenny.Decode(data)
		if err != nil {
			return err
		}
		var answer kenny.Frame
		switch f := frame.(type) {
		case *kenny.Request:
			answer = &kenny.Response{ID: f.ID, OK: true, Result: []byte(`{}`)}
		case *kenny.Ping:
			answer = &kenny.Pong{}
		default:
			continue
		}
		out, err := kenny.Encode(answer)
		if err != nil {
			return err
		}
		if _, err := c.Write(longFrame(out)); err != nil {
			return err
		}
	}
}

func (s *simulated) get(ctx context.Context, path string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.addr+path, http.NoBody)
	if err != nil {
		return "", err
	}
	res, err := benchClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = errors.New(strings.TrimSpace(string(data)))
	}
	return string(data), err
}

var benchClient = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}

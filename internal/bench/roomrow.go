package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// roomRow: one message to a whole room, through the room's goroutine and every
// member's grant.
func roomRow() Row {
	return Row{Name: "room", What: "1 KiB to every member of a room, grants checked, against the same bytes written to raw TCP", Run: runRoom}
}

// roomsRow: many small rooms.
func roomsRow() Row {
	return Row{Name: "rooms", What: "rooms of 5 members, 10,000 messages a second in all", Run: runRooms}
}

func runRoom(ctx context.Context, env *Env) ([]Result, error) {
	var results []Result
	for _, members := range env.affordable(pick(env, []int{50, 500, 5_000}, []int{20, 100}), 2) {
		r, err := roomStep(ctx, env, members)
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

func roomStep(ctx context.Context, env *Env, members int) (Result, error) {
	env.say("%s", count(members, "member"))
	raw, ours := &side{}, &side{}
	defer raw.close()
	defer ours.close()
	if err := raw.open(ctx, env, members, "tcp-fan"); err != nil {
		return Result{}, err
	}
	for _, c := range raw.conns { // all are in
		if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
			return Result{}, err
		}
	}
	var err error
	if ours.child, err = env.start(ctx, "room", env.Dir); err != nil {
		return Result{}, err
	}
	all, err := joinAll(ctx, ours.hello.Addr, members, func(int) string { return "room-0" })
	for _, m := range all {
		ours.conns = append(ours.conns, m.Conn)
	}
	if err != nil {
		return Result{}, err
	}
	rounds := max(2*fanAhead, pick(env, 60_000, 2_000)/members)
	for range pick(env, 8, 2) {
		if err := raw.measured(func() (int64, error) { return raw.pump(rounds) }); err != nil {
			return Result{}, err
		}
		if err := ours.measured(func() (int64, error) { return pumpRoom(ours.child, all, rounds) }); err != nil {
			return Result{}, err
		}
	}
	r := compare(count(members, "member"), rate(float64(ours.ops), ours.spent), rate(float64(raw.ops), raw.spent), 0)
	r.account(ours, raw, "delivery")
	return r, nil
}

// roomMember is a member of a room that reads frames.
type roomMember struct {
	net.Conn
	in *bufio.Reader
	// buf holds the frame that was read last.
	buf []byte
}

// isContent begins every message of somebody else.
var isContent = []byte(`{"t":"from"`)

// next reads one frame; the data is valid until the next.
func (m *roomMember) next() (opcode byte, data []byte, err error) {
	var head [8]byte
	if _, err := io.ReadFull(m.in, head[:2]); err != nil {
		return 0, nil, err
	}
	opcode, n := head[0]&0x0f, uint64(head[1]&0x7f)
	switch n {
	case 126:
		if _, err := io.ReadFull(m.in, head[:2]); err != nil {
			return 0, nil, err
		}
		n = uint64(binary.BigEndian.Uint16(head[:2]))
	case 127:
		if _, err := io.ReadFull(m.in, head[:8]); err != nil {
			return 0, nil, err
		}
		n = binary.BigEndian.Uint64(head[:8])
	}
	if uint64(cap(m.buf)) < n {
		m.buf = make([]byte, n)
	}
	m.buf = m.buf[:n]
	_, err = io.ReadFull(m.in, m.buf)
	return opcode, m.buf, err
}

// content reads up to the next message.
func (m *roomMember) content() ([]byte, error) {
	for {
		opcode, data, err := m.next()
		switch {
		case err != nil:
			return nil, err
		case opcode == 8:
			return nil, fmt.Errorf("closed: %q", data)
		case bytes.HasPrefix(data, isContent):
			return data, nil
		}
	}
}

// until reads up to a frame of a type.
func (m *roomMember) until(kind string) error {
	for {
		opcode, data, err := m.next()
		switch {
		case err != nil:
			return err
		case opcode == 8 || bytes.HasPrefix(data, []byte(`{"t":"lobby","status":"unverified"`)):
			return fmt.Errorf("not let in: %q", data)
		case bytes.HasPrefix(data, []byte(`{"t":"`+kind+`"`)):
			return nil
		}
	}
}

// joinAll connects members; room names the one each goes to.
func joinAll(ctx context.Context, addr string, n int, room func(i int) string) ([]*roomMember, error) {
	all := make([]*roomMember, n)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for i := range all {
		g.Go(func() error {
			c, err := dialTCP(addr)(ctx)
			if err != nil {
				return err
			}
			all[i] = &roomMember{Conn: c, in: bufio.NewReaderSize(c, 2<<10)}
			return all[i].join(room(i))
		})
	}
	err := g.Wait()
	return slices.DeleteFunc(all, func(m *roomMember) bool { return m == nil }), err
}

func (m *roomMember) join(room string) error {
	if _, err := io.WriteString(m, strings.Replace(handshake, "/ws ", "/rooms/"+room+"/ws ", 1)); err != nil {
		return err
	}
	for { // the answer of the handshake; frames follow in the same buffer
		line, err := m.in.ReadString('\n')
		if err != nil {
			return err
		}
		if line == "\r\n" {
			break
		}
	}
	if err := m.until("hello"); err != nil {
		return err
	}
	if _, err := m.Write(clientFrame(1, `{"t":"voice","on":true,"name":"m"}`)); err != nil {
		return err
	}
	return m.until("live")
}

// pumpRoom asks for rounds, a few ahead of the slowest member, until all have all.
func pumpRoom(hub *child, all []*roomMember, rounds int) (int64, error) {
	slots := make(chan struct{}, fanAhead)
	counts := make([]atomic.Int64, rounds)
	g, ctx := errgroup.WithContext(context.Background())
	for _, m := range all {
		g.Go(func() error {
			for i := range rounds {
				if _, err := m.content(); err != nil {
					return fmt.Errorf("a member: %w", err)
				}
				if counts[i].Add(1) == int64(len(all)) {
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
		if err := hub.tell("round"); err != nil {
			return 0, err
		}
	}
	return int64(rounds * len(all)), g.Wait()
}

// Members of a small room, and what all rooms say together in a second.
const (
	seatsEach   = 5
	roomsPerSec = 10_000
)

func runRooms(ctx context.Context, env *Env) ([]Result, error) {
	var results []Result
	for _, n := range env.affordable(pick(env, []int{200, 2_000}, []int{10}), seatsEach) {
		env.say("%s", count(n, "room"))
		r, err := roomsStep(ctx, env, n)
		if err != nil {
			return results, err
		}
		results = append(results, r)
	}
	grow(results, perOp(results))
	return results, nil
}

func roomsStep(ctx context.Context, env *Env, n int) (Result, error) {
	hub, err := env.start(ctx, "room", env.Dir, strconv.Itoa(n))
	if err != nil {
		return Result{}, err
	}
	defer hub.stop()
	all, err := joinAll(ctx, hub.hello.Addr, n*seatsEach, func(i int) string { return fmt.Sprint("room-", i/seatsEach) })
	defer func() {
		for _, m := range all {
			hangUp([]net.Conn{m.Conn})
		}
	}()
	if err != nil {
		return Result{}, err
	}
	// The first word of a room reserves numbers, on disk: it is no part of the pace.
	if _, _, err := chatter(all, n, n, time.Second); err != nil {
		return Result{}, err
	}
	before, err := hub.usage(false)
	if err != nil {
		return Result{}, err
	}
	own := cpuTime()
	late, sent, err := chatter(all, n, pick(env, roomsPerSec, 500), pick(env, 5*time.Second, time.Second))
	if err != nil {
		return Result{}, err
	}
	own = cpuTime() - own
	after, err := hub.usage(false)
	if err != nil {
		return Result{}, err
	}
	slices.Sort(late)
	r := atMost(count(n, "room")+" × 5, p99 from sending to hearing", took(late[len(late)*99/100]), float64(50*time.Millisecond))
	r.cost = (after.CPU - before.CPU) / time.Duration(sent)
	r.Note = fmt.Sprintf("%s messages, %s heard; server CPU per message (4 hear it) %s, of those who speak and hear %s", thousands(int64(sent)), thousands(int64(len(late))), took(r.cost), took(own/time.Duration(sent)))
	return r, nil
}

// chatter has the first member of each room speak at a steady pace and tells how
// long the others waited.
func chatter(all []*roomMember, rooms, perSecond int, d time.Duration) (late []time.Duration, sent int, err error) {
	each := max(1, int(float64(perSecond)/float64(rooms)*d.Seconds()))
	every := d / time.Duration(each)
	began := time.Now()
	var mu sync.Mutex
	var g errgroup.Group
	// One that fails ends all: nobody waits for words that never come.
	hush := sync.OnceFunc(func() {
		for _, m := range all {
			_ = m.SetDeadline(began)
		}
	})
	run := func(f func() error) {
		g.Go(func() error {
			err := f()
			if err != nil {
				hush()
			}
			return err
		})
	}
	for i, m := range all {
		if i%seatsEach == 0 {
			start := every * time.Duration(i/seatsEach) / time.Duration(rooms) // spread out
			run(func() error { return m.speak(began, start, every, each) })
			run(func() error { return m.drain(each) })
			continue
		}
		run(func() error {
			mine, err := m.listen(began, each)
			mu.Lock()
			defer mu.Unlock()
			late = append(late, mine...)
			return err
		})
	}
	err = g.Wait()
	return late, each * rooms, err
}

// listen tells how long each of the next messages was on its way.
func (m *roomMember) listen(began time.Time, n int) ([]time.Duration, error) {
	late := make([]time.Duration, 0, n)
	for range n {
		data, err := m.content()
		if err != nil {
			return late, err
		}
		at, err := spokenAt(data)
		if err != nil {
			return late, err
		}
		late = append(late, time.Since(began)-at)
	}
	return late, nil
}

// speak says when it speaks, again and again.
func (m *roomMember) speak(began time.Time, start, every time.Duration, n int) error {
	tick := time.NewTimer(start)
	defer tick.Stop()
	frame := append(make([]byte, 0, 128), 0x81, 0, 0, 0, 0, 0) // masked by zero
	for i := range n {
		<-tick.C
		line := append(strconv.AppendInt(append(frame[:6], `{"t":"send","n":`...), int64(i)+1, 10), `,"c":{"k":"app","data":`...)
		line = append(strconv.AppendInt(line, int64(time.Since(began)), 10), "}}"...)
		line[1] = 0x80 | byte(len(line)-6)
		if _, err := m.Write(line); err != nil {
			return err
		}
		tick.Reset(time.Until(began.Add(start + every*time.Duration(i+1))))
	}
	return nil
}

// drain reads a speaker's acknowledgements.
func (m *roomMember) drain(n int) error {
	for range n {
		if err := m.until("ack"); err != nil {
			return err
		}
	}
	return nil
}

// spokenAt finds the number that a speaker sent.
func spokenAt(data []byte) (time.Duration, error) {
	_, after, _ := bytes.Cut(data, []byte(`"data":`))
	digits, _, _ := bytes.Cut(after, []byte("}"))
	n, err := strconv.ParseInt(string(digits), 10, 64)
	return time.Duration(n), err
}

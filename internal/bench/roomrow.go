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
	"strings"

	"golang.org/x/sync/errgroup"
)

// roomRow: one message to a whole room, through the room's goroutine and every
// member's grant.
func roomRow() Row {
	return Row{Name: "room", What: "1 KiB to every member of a room, grants checked, against the same bytes written to raw TCP", Run: runRoom}
}

func runRoom(ctx context.Context, env *Env) ([]Result, error) {
	return fanAgainstTCP(ctx, env, []int{20, 100}, func(members int) (*side, func(rounds int) (int64, error), error) {
		ours := &side{}
		all, err := ours.openRoom(ctx, env, members)
		return ours, func(rounds int) (int64, error) {
			return pumpTo(ours.Child, all, rounds, func(m *roomMember) func() error {
				return func() error { _, err := m.content(); return err }
			})
		}, err
	})
}

// openRoom starts a hub and fills one room.
func (s *side) openRoom(ctx context.Context, env *Env, members int) (all []*roomMember, err error) {
	if s.Child, err = env.start(ctx, "room", env.Dir); err != nil {
		return nil, err
	}
	all, err = joinAll(ctx, s.Hello.Addr, members, func(int) string { return "room-0" })
	for _, m := range all {
		s.conns = append(s.conns, m.Conn)
	}
	return all, err
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

package bench

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"syscall"
	"time"
)

// people are all members, spoken and heard for by one goroutine: it has two cores
// to share with the server, and what it spends is missing there. It looks once in
// a turn who is due to speak and what there is to hear, so that up to a turn is
// part of every delay that is measured.
type people struct {
	poll int
	fds  []int
	rest [][]byte // of each, the beginning of a frame
	buf  []byte
}

const turn = time.Millisecond

// gather takes the members' sockets from the Go runtime, which would wake for each.
func gather(all []*roomMember) (*people, error) {
	poll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	p := &people{poll: poll, fds: make([]int, 0, len(all)), rest: make([][]byte, len(all)), buf: make([]byte, 64<<10)}
	for i, m := range all {
		if err := p.add(i, m); err != nil {
			p.leave()
			return nil, err
		}
	}
	return p, nil
}

func (p *people) add(i int, m *roomMember) error {
	tcp, ok := m.Conn.(*net.TCPConn)
	if !ok {
		return fmt.Errorf("a member is a %T", m.Conn)
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return err
	}
	fd, dupErr := -1, error(nil)
	if err := raw.Control(func(n uintptr) { fd, dupErr = syscall.Dup(int(n)) }); err != nil {
		return err
	}
	if dupErr != nil {
		return dupErr
	}
	syscall.CloseOnExec(fd)
	p.fds = append(p.fds, fd)
	head, _ := m.in.Peek(m.in.Buffered()) // that much is there
	p.rest[i] = bytes.Clone(head)
	hangUp([]net.Conn{m.Conn}) // the socket stays
	return syscall.EpollCtl(p.poll, syscall.EPOLL_CTL_ADD, fd, &syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(i)})
}

// leave resets the connections.
func (p *people) leave() {
	for _, fd := range p.fds {
		_ = syscall.Close(fd)
	}
	_ = syscall.Close(p.poll)
}

// chat says all words and returns how long each was on its way to each hearer,
// when all have heard and every speaker has its answers.
func (p *people) chat(ctx context.Context, c chat) (late []time.Duration, err error) {
	late = make([]time.Duration, 0, c.words*(seatsEach-1))
	began, spoken, answered := time.Now(), 0, 0
	hear := func(frame []byte) error {
		switch {
		case bytes.HasPrefix(frame, isContent):
			at, err := spokenAt(frame)
			late = append(late, time.Since(began)-at)
			return err
		case bytes.HasPrefix(frame, []byte(`{"t":"ack"`)):
			answered++
		case bytes.HasPrefix(frame, []byte(`{"t":"nak"`)):
			return fmt.Errorf("refused: %s", frame)
		}
		return nil
	}
	for len(late) < cap(late) || answered < c.words {
		for now := time.Since(began); spoken < c.words && c.due(spoken) <= now; spoken++ {
			if err := p.say(c.speaker(spoken), said(p.buf, spoken, time.Since(began))); err != nil {
				return late, err
			}
		}
		if err := p.listen(hear); err != nil {
			return late, err
		}
		if ctx.Err() != nil {
			return late, ctx.Err()
		}
		time.Sleep(turn)
	}
	return late, nil
}

func (p *people) say(i int, frame []byte) error {
	n, err := syscall.Write(p.fds[i], frame)
	if err == nil && n < len(frame) {
		err = fmt.Errorf("%d of %d bytes were taken", n, len(frame))
	}
	return err
}

// listen reads what has arrived.
func (p *people) listen(hear func(frame []byte) error) error {
	var events [512]syscall.EpollEvent
	for {
		n, err := syscall.EpollWait(p.poll, events[:], 0)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		for _, e := range events[:n] {
			if err := p.read(int(e.Fd), hear); err != nil {
				return err
			}
		}
		if n < len(events) {
			return nil
		}
	}
}

func (p *people) read(i int, hear func(frame []byte) error) error {
	have := copy(p.buf, p.rest[i])
	n, err := syscall.Read(p.fds[i], p.buf[have:])
	if err != nil {
		return err
	}
	if n == 0 {
		return fmt.Errorf("a member was hung up on")
	}
	left, err := frames(p.buf[:have+n], hear)
	p.rest[i] = append(p.rest[i][:0], left...)
	return err
}

// frames gives hear every whole frame and returns the rest.
func frames(data []byte, hear func(frame []byte) error) (rest []byte, err error) {
	for len(data) >= 2 {
		opcode, n, from := data[0]&0x0f, int(data[1]&0x7f), 2
		switch {
		case n == 126 && len(data) >= 4:
			n, from = int(binary.BigEndian.Uint16(data[2:])), 4
		case n == 127 && len(data) >= 10:
			n, from = int(binary.BigEndian.Uint64(data[2:])), 10 //nolint:gosec // our own hub's
		case n >= 126:
			return data, nil
		}
		if len(data)-from < n {
			return data, nil
		}
		frame := data[from : from+n]
		if opcode == 8 {
			return nil, fmt.Errorf("closed: %q", frame)
		}
		if err := hear(frame); err != nil {
			return nil, err
		}
		data = data[from+n:]
	}
	return data, nil
}

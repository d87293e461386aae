package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	wire "parley.internal/protocol/agentfirst"
)

// listen has one goroutine listen for all of them: it shares the cores with the hub,
// and what it spends is missing there. It looks once in a turn who is due to begin
// and what there is to hear, so that up to a turn is part of what is measured.
func (c *audience) listen(ctx context.Context) (late []time.Duration, err error) {
	poll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	r := &audienceRun{audience: c, poll: poll, buf: make([]byte, 64<<10)}
	defer r.leave()
	began := time.Now()
	for ctx.Err() == nil && r.over < c.n {
		for len(r.all) < c.n && c.due(len(r.all)) <= time.Since(began) {
			if err := r.begin(); err != nil {
				return nil, err
			}
		}
		if err := r.hear(); err != nil {
			return nil, err
		}
		time.Sleep(turn)
	}
	for i := range r.all {
		late = append(late, r.all[i].late...)
	}
	return late, ctx.Err()
}

// audienceRun is an audience and its sockets.
type audienceRun struct {
	*audience
	poll int
	all  []audienceMember
	over int
	buf  []byte
}

type audienceMember struct {
	ear
	fd   int
	rest []byte // the beginning of a frame
}

// begin connects the next one, who says hello and its words at once.
func (r *audienceRun) begin() error {
	i := len(r.all)
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	r.all = append(r.all, audienceMember{fd: fd, ear: ear{late: make([]time.Duration, 0, 256)}})
	if err := syscall.Connect(fd, &syscall.SockaddrUnix{Name: r.socket}); err != nil {
		return err
	}
	out, err := wire.AppendFrame(nil, &wire.ClientMessage{RequestId: 1, Message: &wire.ClientMessage_Hello{Hello: &wire.Hello{Version: wire.HelloVersion, Client: "bench"}}})
	if err == nil {
		out, err = wire.AppendFrame(out, &wire.ClientMessage{RequestId: 2, Message: &wire.ClientMessage_Stream{Stream: r.turn(i)}})
	}
	if err != nil {
		return err
	}
	if n, err := syscall.Write(fd, out); err != nil || n < len(out) {
		return errors.Join(err, fmt.Errorf("%d of %d bytes were taken", n, len(out)))
	}
	return syscall.EpollCtl(r.poll, syscall.EPOLL_CTL_ADD, fd, &syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(i)})
}

// leave hangs up for those who have not heard everything.
func (r *audienceRun) leave() {
	for i := range r.all {
		if !r.all[i].over {
			_ = syscall.Close(r.all[i].fd)
		}
	}
	_ = syscall.Close(r.poll)
}

// hear reads what has arrived.
func (r *audienceRun) hear() error {
	var events [512]syscall.EpollEvent
	for {
		n, err := syscall.EpollWait(r.poll, events[:], 0)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		for _, e := range events[:n] {
			if err := r.read(&r.all[e.Fd]); err != nil {
				return err
			}
		}
		if n < len(events) {
			return nil
		}
	}
}

func (r *audienceRun) read(m *audienceMember) error {
	have := copy(r.buf, m.rest)
	n, err := syscall.Read(m.fd, r.buf[have:])
	if err == nil && n == 0 {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return err
	}
	data, now := r.buf[:have+n], time.Now()
	for len(data) >= wire.PrefixSize {
		size := int(binary.BigEndian.Uint32(data)) + wire.PrefixSize
		if len(data) < size {
			break
		}
		if err := r.frame(m, data[wire.PrefixSize:size], now); err != nil {
			return err
		}
		data = data[size:]
	}
	m.rest = append(m.rest[:0], data...)
	return nil
}

// frame takes one message in; the run's last hangs up.
func (r *audienceRun) frame(m *audienceMember, payload []byte, now time.Time) error {
	msg, err := wire.UnmarshalServer(payload)
	if err != nil {
		return err
	}
	if bad := msg.GetError(); bad != nil {
		return errors.New(bad.GetMessage())
	}
	if err := m.ear.hear(r.audience, msg.GetStream(), now); err != nil || !m.over {
		return err
	}
	r.over++
	return syscall.Close(m.fd)
}

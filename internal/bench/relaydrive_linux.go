package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"syscall"
	"time"
)

// drive has one goroutine speak for all clients of a case: it shares the cores with
// the hub, and what it spends is missing there. What a client says next is decided
// by ask.
func (r *relayed) drive(ctx context.Context, clients int, ask asking) (*driver, error) {
	poll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	d := &driver{poll: poll, ask: ask, buf: make([]byte, 64<<10)}
	conns, err := dialAll(ctx, clients, dialTCP(r.conns[0].addr))
	if err != nil {
		d.close()
		return nil, err
	}
	defer hangUp(conns) // the sockets stay
	for i, c := range conns {
		if err := d.add(i, c); err != nil {
			d.close()
			return nil, err
		}
	}
	return d, nil
}

// driver is many connections at which one request each is on its way.
type driver struct {
	poll    int
	ask     asking
	clients []driven
	buf     []byte
	took    []time.Duration
}

type driven struct {
	fd, turn, want int
	began          time.Time
	rest           []byte // the beginning of an answer
}

func (d *driver) add(i int, c net.Conn) error {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return fmt.Errorf("a connection is a %T", c)
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return err
	}
	fd, dupErr := -1, error(nil)
	if err := errors.Join(raw.Control(func(n uintptr) { fd, dupErr = syscall.Dup(int(n)) }), dupErr); err != nil {
		return err
	}
	syscall.CloseOnExec(fd)
	d.clients = append(d.clients, driven{fd: fd})
	return syscall.EpollCtl(d.poll, syscall.EPOLL_CTL_ADD, fd, &syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(i)})
}

func (d *driver) close() {
	for _, c := range d.clients {
		_ = syscall.Close(c.fd)
	}
	_ = syscall.Close(d.poll)
}

// run lets every client make one request after the other for that long, and counts
// those that end what the client is about.
func (d *driver) run(span time.Duration) (n int64, spent time.Duration, err error) {
	started := time.Now()
	for i := range d.clients {
		if err := d.say(i); err != nil {
			return 0, 0, err
		}
	}
	var events [256]syscall.EpollEvent
	for busy := len(d.clients); busy > 0; {
		k, err := syscall.EpollWait(d.poll, events[:], 10_000)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || k == 0 {
			return n, time.Since(started), errors.Join(err, fmt.Errorf("%d answers are missing", busy))
		}
		for _, e := range events[:k] {
			done, err := d.hear(int(e.Fd))
			if err != nil {
				return n, time.Since(started), err
			}
			if !done {
				continue
			}
			if c := &d.clients[e.Fd]; c.turn%d.ask.turns == 0 {
				if n++; time.Since(started) >= span {
					busy--
					continue
				}
			}
			if err := d.say(int(e.Fd)); err != nil {
				return n, time.Since(started), err
			}
		}
	}
	return n, time.Since(started), nil
}

// say sends a client's next request.
func (d *driver) say(i int) error {
	c := &d.clients[i]
	var out []byte
	out, c.want = d.ask.next(i, c.turn%d.ask.turns, d.buf[:0])
	c.turn++
	c.began = time.Now()
	n, err := syscall.Write(c.fd, out)
	if err == nil && n < len(out) {
		err = io.ErrShortWrite
	}
	return err
}

// hear reads what has arrived, and tells whether it is a whole answer.
func (d *driver) hear(i int) (done bool, err error) {
	c := &d.clients[i]
	have := copy(d.buf, c.rest)
	n, err := syscall.Read(c.fd, d.buf[have:])
	if err != nil {
		return false, err
	}
	if n == 0 {
		return false, io.ErrUnexpectedEOF
	}
	data := d.buf[:have+n]
	head, body, whole := bytes.Cut(data, []byte("\r\n\r\n"))
	if whole {
		_, length, _ := bytes.Cut(head, []byte("\r\nContent-Length: "))
		length, _, _ = bytes.Cut(length, []byte("\r\n"))
		size, _ := strconv.Atoi(string(length))
		whole = len(body) >= size
	}
	if !whole {
		c.rest = append(c.rest[:0], data...)
		return false, nil
	}
	c.rest = c.rest[:0]
	d.took = append(d.took, time.Since(c.began))
	if status, _ := strconv.Atoi(string(head[min(len(head), 9):min(len(head), 12)])); status != c.want {
		return true, fmt.Errorf("%s", data)
	}
	return true, nil
}

// times of the requests since they were asked for last.
func (d *driver) times() []time.Duration {
	took := d.took
	d.took = nil
	return took
}

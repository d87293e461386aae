package front

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"parley.internal/internal/wake"
)

// Waiting is what a parked request does.
type Waiting struct {
	// Look answers if it can. If not it tells when to look again, unless Wake is
	// called before; without an answer and a time the connection is closed.
	Look func(ctx context.Context, w http.ResponseWriter) (again time.Time)
	// Leave is called once, after the last look and before the client hears of it.
	Leave func()
}

// Parked is a connection whose request waits, and then waits for the next request.
// It has one goroutine, which reads: the client's next words, its end, or a deadline,
// by which it is also woken. What needs a large stack runs in goroutines that end.
type Parked struct {
	parking *Parking
	waiting Waiting
	// after is what the handlers around the request do when it is answered.
	after []func()
	// last says that the client wants no other request on this connection.
	last bool

	header http.Header
	status int
	body   []byte
	// head is what was read of the next request.
	head []byte

	mu    sync.Mutex
	conn  net.Conn
	woken bool
	// nudged is there once nothing may be read any more.
	nudged wake.Bell
}

const (
	// writeTime is how long a client may take for writePart of an answer.
	writeTime = time.Minute
	writePart = 64 << 10
	// goodbyeTime is how long a client may take to close after the last answer.
	goodbyeTime = 2 * time.Second
)

// Wake has a parked request look again. It does not block, and may come before the
// request waits and after it was answered.
func (p *Parked) Wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.woken = true
	switch {
	case p.nudged != nil:
		p.nudged.Ring()
	case p.conn != nil && p.waiting.Look != nil:
		_ = p.conn.SetReadDeadline(time.Unix(1, 0))
	}
}

// start lets it wait, if all is well. The request's own goroutine ends after it.
func (p *Parked) start(well bool, again time.Time) {
	if !well || !p.parking.keep(p) {
		p.finished()
		_ = p.conn.Close()
		return
	}
	go p.live(again)
}

// leave ends the waiting; from now on waking does nothing.
func (p *Parked) leave() {
	p.mu.Lock()
	leave := p.waiting.Leave
	p.waiting = Waiting{}
	p.mu.Unlock()
	if leave != nil {
		leave()
	}
}

// finished ends the request; the connection may live on.
func (p *Parked) finished() {
	p.leave()
	for _, f := range p.after {
		f()
	}
	p.after, p.header, p.body = nil, nil, nil
}

// live is the life of a connection here.
func (p *Parked) live(again time.Time) {
	defer p.parking.work.Done()
	for p.wait(again) {
		if again = p.look(); again.IsZero() {
			break
		}
	}
	sent := p.status != 0
	p.finished()
	switch {
	case !sent:
		p.close()
	case p.last:
		p.goodbye()
	case len(p.head) > 0 || p.read(time.Now().Add(p.parking.idle)) == nil:
		p.giveBack()
	default:
		p.close()
	}
}

// wait returns when it is time to look; false when the client has left.
func (p *Parked) wait(again time.Time) bool {
	if p.nudged != nil {
		return p.sleep(again)
	}
	err := p.read(again)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		// It says something before it was answered. More is not read, so that what it
		// says is bounded, and its end not noticed.
		p.nudged = wake.New()
	}
	p.woken = false
	return err == nil || errors.Is(err, os.ErrDeadlineExceeded)
}

// read takes the first byte that comes, if nobody wakes it.
func (p *Parked) read(until time.Time) error {
	p.mu.Lock()
	if p.woken && p.waiting.Look != nil {
		until = time.Unix(1, 0)
	}
	err := p.conn.SetReadDeadline(until)
	p.mu.Unlock()
	if err != nil {
		return err
	}
	one := make([]byte, 1)
	n, err := p.conn.Read(one)
	if n > 0 {
		p.head, err = append(p.head, one...), nil
	}
	return err
}

func (p *Parked) sleep(again time.Time) bool {
	t := time.NewTimer(time.Until(again))
	defer t.Stop()
	select {
	case <-p.nudged:
	case <-t.C:
	case <-p.parking.ctx.Done():
		return false
	}
	return true
}

// look asks whether there is an answer, and sends it; a handler that fails has none.
func (p *Parked) look() (again time.Time) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if cause := recover(); cause != nil {
				p.status, again = 0, time.Time{}
				p.parking.logger.Error("panic in a handler", "panic", cause, "stack", stack())
			}
		}()
		again = p.waiting.Look(p.parking.ctx, p)
		if p.status == 0 {
			return
		}
		again = time.Time{}
		p.leave()
		if !p.write() {
			p.last = true
		}
	}()
	<-done
	return again
}

func (p *Parked) close() {
	p.parking.forget(p)
	_ = p.conn.Close()
}

// goodbye tells the client that this was all, and leaves the closing to it for a
// moment: closing with something unread would take the answer back.
func (p *Parked) goodbye() {
	if c, ok := p.conn.(interface{ CloseWrite() error }); ok && c.CloseWrite() == nil {
		_ = p.read(time.Now().Add(goodbyeTime))
	}
	p.close()
}

// giveBack hands the connection to the server, with what was read of it.
func (p *Parked) giveBack() {
	p.parking.forget(p)
	conn := &rejoined{p.conn, p.head}
	if conn.SetDeadline(time.Time{}) != nil {
		_ = conn.Close()
		return
	}
	select {
	case p.parking.back <- conn:
	case <-p.parking.ctx.Done():
		_ = conn.Close()
	}
}

// Header is the answer's, with what the handlers around set before.
func (p *Parked) Header() http.Header { return p.header }

// WriteHeader keeps the first status.
func (p *Parked) WriteHeader(status int) {
	if p.status == 0 {
		p.status = status
	}
}

// Write keeps the body until the answer is whole.
func (p *Parked) Write(b []byte) (int, error) {
	p.WriteHeader(http.StatusOK)
	p.body = append(p.body, b...)
	return len(b), nil
}

// write sends the answer as the server would. Who does not read is not waited for
// for long.
func (p *Parked) write() bool {
	var out bytes.Buffer
	out.WriteString("HTTP/1.1 " + strconv.Itoa(p.status) + " " + http.StatusText(p.status) + "\r\n")
	_ = p.header.Write(&out)
	out.WriteString("Date: " + time.Now().UTC().Format(http.TimeFormat) + "\r\n")
	if p.header["Content-Length"] == nil {
		out.WriteString("Content-Length: " + strconv.Itoa(len(p.body)) + "\r\n")
	}
	if p.last {
		out.WriteString("Connection: close\r\n")
	}
	out.WriteString("\r\n")
	out.Write(p.body)
	for rest := out.Bytes(); len(rest) > 0; {
		part := rest[:min(len(rest), writePart)]
		if p.conn.SetWriteDeadline(time.Now().Add(writeTime)) != nil {
			return false
		}
		if _, err := p.conn.Write(part); err != nil {
			return false
		}
		rest = rest[len(part):]
	}
	return true
}

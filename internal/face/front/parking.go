package front

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Parking is where connections are whose requests wait for something to happen. The
// HTTP server keeps buffers, a request, an answer and the stack of a handler for each
// of them; a parked one is a socket and a small goroutine. Once answered, a
// connection stays here until its client speaks again, and then goes back to the
// server through Listener.
//
//	l := parking.Listener()
//	go server.Serve(l)        // besides the real listener
//	…
//	parking.Close(ctx)        // after the requests have been answered
//
// Only plain HTTP/1.1 is parked; all else waits the ordinary way.
type Parking struct {
	idle   time.Duration
	logger *slog.Logger
	// open once somebody serves what comes back.
	open atomic.Bool
	back chan net.Conn
	// ctx ends when the parking closes.
	ctx  context.Context
	stop context.CancelFunc

	mu   sync.Mutex
	all  map[*Parked]struct{}
	work sync.WaitGroup
}

// NewParking makes a parking; idle is how long a client may say nothing after an
// answer.
func NewParking(idle time.Duration, logger *slog.Logger) *Parking {
	ctx, stop := context.WithCancel(context.Background())
	return &Parking{idle: idle, logger: logger, back: make(chan net.Conn), ctx: ctx, stop: stop, all: map[*Parked]struct{}{}}
}

// Listener is where connections come from that speak again. Nothing is parked before
// it was asked for.
func (l *Parking) Listener() net.Listener {
	l.open.Store(true)
	return &returns{parking: l, closed: make(chan struct{})}
}

// Close hangs up on all and waits until nothing of them runs, or ctx ends.
func (l *Parking) Close(ctx context.Context) error {
	l.mu.Lock()
	l.stop()
	for p := range l.all {
		_ = p.conn.Close()
	}
	l.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		l.work.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// keep counts a connection in; not when it is too late.
func (l *Parking) keep(p *Parked) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() != nil {
		return false
	}
	l.all[p] = struct{}{}
	l.work.Add(1)
	return true
}

func (l *Parking) forget(p *Parked) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.all, p)
}

// returns is the listener the server takes connections from again.
type returns struct {
	parking *Parking
	once    sync.Once
	closed  chan struct{}
}

// Accept waits for a connection that speaks again.
func (r *returns) Accept() (net.Conn, error) {
	select {
	case c := <-r.parking.back:
		return c, nil
	case <-r.closed:
	case <-r.parking.ctx.Done():
	}
	return nil, net.ErrClosed
}

// Close ends Accept; who would come back after it is hung up on.
func (r *returns) Close() error {
	r.once.Do(func() {
		r.parking.open.Store(false)
		close(r.closed)
	})
	return nil
}

// Addr is nowhere: nobody can connect.
func (r *returns) Addr() net.Addr { return &net.TCPAddr{} }

// rejoined is a connection of which some was read already.
type rejoined struct {
	net.Conn
	head []byte
}

// Read gives what was read before first.
func (c *rejoined) Read(b []byte) (int, error) {
	if len(c.head) == 0 {
		return c.Conn.Read(b)
	}
	n := copy(b, c.head)
	c.head = c.head[n:]
	return n, nil
}

// Prepare is for a request that may have to wait; nil when it has to wait the ordinary
// way.
func Prepare(w http.ResponseWriter, r *http.Request) *Parked {
	seen, ok := w.(*recorder)
	if !ok || seen.parking == nil || seen.status != 0 || !seen.parking.open.Load() ||
		r.Method != http.MethodGet || r.ProtoMajor != 1 || r.ProtoMinor != 1 || r.TLS != nil || r.ContentLength != 0 || len(r.TransferEncoding) != 0 {
		return nil
	}
	return &Parked{parking: seen.parking, last: r.Close}
}

// Park has the request wait until it is woken, or for so long. The handler must return
// then, and neither w nor r may be used afterwards: Look gets another writer. When it
// is false the request has to be answered the ordinary way.
func (p *Parked) Park(w http.ResponseWriter, again time.Time, waiting Waiting) bool {
	seen, ok := w.(*recorder)
	if !ok {
		return false
	}
	conn, buf, err := http.NewResponseController(seen.ResponseWriter).Hijack()
	if err != nil {
		return false
	}
	if c, ok := conn.(*rejoined); ok && len(c.head) == 0 {
		conn = c.Conn
	}
	head, _ := buf.Peek(buf.Reader.Buffered())
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conn, p.waiting, p.header, p.head = conn, waiting, seen.Header(), append([]byte(nil), head...)
	seen.parked, seen.again = p, again
	return true
}

// After calls f once the request is answered: now, unless it is parked.
func After(w http.ResponseWriter, f func()) {
	if seen, ok := w.(*recorder); ok && seen.parked != nil {
		seen.parked.after = append(seen.parked.after, f)
		return
	}
	f()
}

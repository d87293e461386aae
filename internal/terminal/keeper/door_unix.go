//go:build unix

package keeper

import (
	"net"
	"os"
	"sync"
	"time"

	"parley.internal/internal/localsocket"
)

// door is the way out of a box, as its keeper holds it: the hub serves it, and while there
// is none, the keeper says so to whoever wants out. It is a sandbox.Exit.
type door struct {
	mu       sync.Mutex
	listener net.Listener
	password string
	hub      bool // one serves it now
	met      bool // one has served it: the hub that opens a terminal comes a moment after its program began
	closed   bool
	changed  chan struct{} // closed and made anew with every change
}

func newDoor() *door { return &door{changed: make(chan struct{})} }

// Serve holds the listener until Close.
func (d *door) Serve(l net.Listener, password string) {
	d.set(func() { d.listener, d.password = l, password })
	for {
		d.mu.Lock()
		closed, wait, changed := d.closed, d.hub || !d.met, d.changed
		d.mu.Unlock()
		switch {
		case closed:
			_ = l.Close()
			return
		case wait:
			<-changed
		default:
			d.refuse(l)
		}
	}
}

// refuse answers one that wants out while there is no hub.
func (d *door) refuse(l net.Listener) {
	c, err := l.Accept()
	if err != nil {
		d.pauseAfter(err)
		return
	}
	_ = c.SetDeadline(time.Now().Add(time.Second))
	_, _ = c.Read(make([]byte, 4096)) // one who is not heard out does not get the answer
	_, _ = c.Write([]byte(away))
	_ = c.Close()
}

// pauseAfter keeps a listener that fails from being asked without end.
func (d *door) pauseAfter(err error) {
	if os.IsTimeout(err) {
		return // a hub came
	}
	timer := time.NewTimer(look)
	defer timer.Stop()
	<-timer.C
}

// away is what programs are told meanwhile.
const away = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nRetry-After: 5\r\nConnection: close\r\n\r\n" +
	"parley: the hub is away, and the network with it; try again later\n"

// Close ends it.
func (d *door) Close() { d.set(func() { d.closed = true }) }

// lend says whether a hub serves it now.
func (d *door) lend(hub bool) { d.set(func() { d.hub, d.met = hub, true }) }

func (d *door) set(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
	close(d.changed)
	d.changed = make(chan struct{})
	if l, ok := d.listener.(interface{ SetDeadline(time.Time) error }); ok {
		var until time.Time
		if d.hub || d.closed {
			until = time.Unix(1, 0) // who waits in Accept wakes up
		}
		_ = l.SetDeadline(until)
	}
}

// give hands the listener to a hub, with its password, once the box has made it.
func (d *door) give(to *net.UnixConn) {
	if l, password := d.made(); l != nil && localsocket.HandListener(to, l, password+"\n") == nil {
		d.lend(true)
	}
}

// made waits for the listener; nil if there will be none.
func (d *door) made() (net.Listener, string) {
	for {
		d.mu.Lock()
		l, password, closed, changed := d.listener, d.password, d.closed, d.changed
		d.mu.Unlock()
		if closed || l != nil {
			return l, password
		}
		<-changed
	}
}

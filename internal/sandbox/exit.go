package sandbox

import (
	"crypto/rand"
	"net"
)

// Exit is a program's way out: what it wants from the network comes here. Serve takes
// connections until Close; whoever knows the password, if there is one, is the program. Close
// ends what goes on, and Serve returns, also if it is called later.
type Exit interface {
	Serve(l net.Listener, password string)
	Close()
}

// openExit serves a way out on the machine's own loopback, for boxes that share its
// network, and tells its port and its password.
func (p *Process) openExit(serve Exit) (port int, password string, err error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, "", err
	}
	password = rand.Text()
	p.served = make(chan struct{})
	go func() {
		defer close(p.served)
		serve.Serve(l, password)
	}()
	return l.Addr().(*net.TCPAddr).Port, password, nil
}

// closeExit ends the way out, and waits for its end.
func (p *Process) closeExit() {
	if p.exit == nil {
		return
	}
	if p.handed != nil {
		_ = p.handed.Close()
	}
	p.exit.Close()
	if p.served != nil {
		<-p.served
	}
}

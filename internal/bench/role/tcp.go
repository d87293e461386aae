package role

import (
	"context"
	"net"
	"strings"
	"sync"
)

// The bare servers: what the system does without us.

// tcpServer runs handle for every connection.
func tcpServer(ctx context.Context, handle func(net.Conn)) (*Server, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go handle(c) // the process ends with its connections
		}
	})
	return &Server{Hello: Hello{Addr: l.Addr().String()}, Close: func() { _ = l.Close(); running.Wait() }}, nil
}

// TCPEcho sends back whatever comes.
func TCPEcho(ctx context.Context, _ []string) (*Server, error) {
	return tcpServer(ctx, func(c net.Conn) {
		buf := make([]byte, 1<<10)
		for {
			n, err := c.Read(buf)
			if err != nil {
				_ = c.Close()
				return
			}
			if _, err := c.Write(buf[:n]); err != nil {
				_ = c.Close()
				return
			}
		}
	})
}

// TCPFan writes one message to every connection when told to.
func TCPFan(ctx context.Context, _ []string) (*Server, error) {
	var mu sync.Mutex
	var members []net.Conn
	s, err := tcpServer(ctx, func(c net.Conn) {
		mu.Lock()
		defer mu.Unlock()
		members = append(members, c)
		// The member knows by this that it is in.
		_, _ = c.Write([]byte{'!'})
	})
	if err != nil {
		return nil, err
	}
	message := make([]byte, FanWire)
	s.On = func(string) {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range members {
			_, _ = c.Write(message)
		}
	}
	return s, nil
}

// FanMessage is what members get.
var FanMessage = []byte(strings.Repeat("x", 1<<10))

// FanWire is its size with the frame's header.
const FanWire = 1<<10 + 4

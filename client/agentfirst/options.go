package agentfirst

import (
	"context"
	"net"
	"net/http"
	"time"
)

// Options are how to reach a server. The zero value fits a Unix socket.
type Options struct {
	// Token proves who we are; not needed on a Unix socket.
	Token string
	// Client is what to be called in the server's logs; empty = "parley-go".
	Client string
	// Plain keeps to the original protocol without asking the server.
	Plain bool
	// MaxBuffered is how many bytes of one run may wait for its consumer; zero = 16 MiB.
	MaxBuffered int
	// WriteTimeout is how long the server may take to accept a message before the
	// connection is given up; zero = 30 s.
	WriteTimeout time.Duration
	// RetryMin and RetryMax bound the pause before Attach dials again; zero =
	// 200 ms and 10 s.
	RetryMin, RetryMax time.Duration
	// DialContext makes the connections of unix and tcp targets; nil = net.Dialer.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
	// HTTPClient makes the handshake of ws and wss targets; nil = one of its own.
	HTTPClient *http.Client
}

func (o Options) withDefaults() Options {
	if o.Client == "" {
		o.Client = "parley-go"
	}
	if o.MaxBuffered <= 0 {
		o.MaxBuffered = 16 << 20
	}
	if o.WriteTimeout <= 0 {
		o.WriteTimeout = 30 * time.Second
	}
	if o.RetryMin <= 0 {
		o.RetryMin = 200 * time.Millisecond
	}
	if o.RetryMax <= 0 {
		o.RetryMax = 10 * time.Second
	}
	o.RetryMax = max(o.RetryMax, o.RetryMin)
	if o.DialContext == nil {
		o.DialContext = new(net.Dialer).DialContext
	}
	return o
}

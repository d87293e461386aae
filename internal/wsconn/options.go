package wsconn

import (
	"log/slog"
	"time"
)

// Options are what the connections of one Group have in common. Zero values take the defaults named here.
type Options struct {
	// Read is the limit new connections start with. Default: 1 MiB, then close 1009.
	Read ReadLimit
	// MessageTimeout is how long one message may take to arrive once begun. Default 60 s.
	MessageTimeout time.Duration
	// RefuseText and RefuseBinary close 1003 on such a message.
	RefuseText, RefuseBinary bool
	// Admit may refuse a message before the handler sees it, for instance by a rate limit: a Close as error
	// closes the connection, any other error drops the message.
	Admit func(c *Conn, kind Kind, size int) error

	// Queue bounds what waits to be written. Default 256 frames, 2 MiB.
	Queue QueueLimit
	// Overflow is how a connection ends whose queue is full, or that takes nothing for WriteTimeout. Default
	// 1013 "too slow".
	Overflow Close
	// WriteTimeout is how long the peer may take nothing at all. Default 30 s.
	WriteTimeout time.Duration
	// CloseTimeout is how long a closing connection may take to flush and to shake hands. Default 2 s.
	CloseTimeout time.Duration
	// HandshakeTimeout bounds writing the handshake's answer. Default 5 s. Reading the request is
	// bounded by the http.Server's ReadHeaderTimeout.
	HandshakeTimeout time.Duration

	// Ping keeps connections alive. Default: none.
	Ping Heartbeat
	// Silence ends connections that no longer send anything. Default: never.
	Silence Silence

	// LastWords, if set, is asked for a text message to send right before a close frame this package decided
	// on by itself (overflow, limits, silence, bad frames, drain). Nil sends none. It must not use the
	// connection, which may be locked.
	LastWords func(why Close) []byte

	// Log receives panics of handlers; nil discards them.
	Log *slog.Logger
	// Metrics receives the counts; several groups may share one. Default: one of its own.
	Metrics *Metrics
}

// ReadLimit says how large an inbound message may be.
type ReadLimit struct {
	// Message is the largest message in bytes.
	Message int64
	// Discard, if larger than Message, is up to where a message is skipped while it is read, never stored. The
	// handler is told if it is an OversizeHandler. Beyond it the connection is closed.
	Discard int64
	// Close is how it is closed. Default 1009 "message too large".
	Close Close
}

// QueueLimit bounds what waits for one connection. A single message is always accepted by an empty queue.
type QueueLimit struct {
	Frames, Bytes int
}

// Heartbeat asks the peer for a sign of life.
type Heartbeat struct {
	// Every is the pause between two of them; 0 is none.
	Every time.Duration
	// WhenSilent counts the pause from the last thing the peer sent, so that a busy peer is not asked.
	WhenSilent bool
	// Send replaces the RFC 6455 ping, for protocols with a ping message of their own. It must not block.
	Send func(c *Conn)
}

// Silence is how long a peer may send nothing, and how the connection then ends. While a handler runs
// nothing can be read, so that time does not count. Default close 1001 "silent".
type Silence struct {
	After time.Duration
	Close Close
}

func (o Options) withDefaults() Options {
	if o.Read.Message <= 0 {
		o.Read.Message = 1 << 20
	}
	o.Read = o.Read.withDefaults()
	if o.Queue.Frames <= 0 {
		o.Queue.Frames = 256
	}
	if o.Queue.Bytes <= 0 {
		o.Queue.Bytes = 2 << 20
	}
	o.Overflow = o.Overflow.or(CodeTryLater, "too slow")
	o.Silence.Close = o.Silence.Close.or(CodeGoingAway, "silent")
	for _, d := range []struct {
		value *time.Duration
		or    time.Duration
	}{
		{&o.MessageTimeout, time.Minute},
		{&o.WriteTimeout, 30 * time.Second},
		{&o.CloseTimeout, 2 * time.Second},
		{&o.HandshakeTimeout, 5 * time.Second},
	} {
		if *d.value <= 0 {
			*d.value = d.or
		}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = new(Metrics)
	}
	return o
}

func (l ReadLimit) withDefaults() ReadLimit {
	l.Close = l.Close.or(CodeTooLarge, "message too large")
	return l
}

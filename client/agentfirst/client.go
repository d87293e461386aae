package agentfirst

import (
	"context"
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"

	wire "parley.internal/protocol/agentfirst"
)

// maxIdle is how many connections to a plain server are kept for the next request.
const maxIdle = 4

// Client talks to one server. Its methods may be called from many goroutines.
type Client struct {
	target string
	opts   Options

	// dialing is held by whoever makes the shared connection.
	dialing chan struct{}

	mu     sync.Mutex
	closed bool
	plain  bool
	hello  *wire.HelloReply
	shared *link              // extended: carries all requests
	idle   []*link            // plain: connections without a request
	links  map[*link]struct{} // every connection there is
}

// Dial reaches a server at unix:///path, tcp://host:port, ws://host/talk/ws or
// wss://host/talk/ws. ctx bounds the dialling only.
func Dial(ctx context.Context, target string, opts Options) (*Client, error) {
	c := &Client{
		target: target, opts: opts.withDefaults(), plain: opts.Plain,
		dialing: make(chan struct{}, 1), links: make(map[*link]struct{}),
	}
	l, err := c.borrow(ctx)
	if err != nil {
		return nil, err
	}
	c.giveBack(l)
	return c, nil
}

// Extended reports whether the server knows Parley's additions.
func (c *Client) Extended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.plain
}

// Hub returns how the server introduced itself; nil when it is plain.
func (c *Client) Hub() *wire.HelloReply {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hello
}

// Close ends all connections and waits until they are gone. Requests under way
// fail with ErrClosed.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	links := c.links
	c.links = make(map[*link]struct{})
	c.mu.Unlock()
	for l := range links {
		l.close()
	}
	return nil
}

// Do sends any request that has a single answer and returns that answer; an
// error answer as a *ServerError.
func (c *Client) Do(ctx context.Context, req *wire.ClientMessage) (*wire.ServerMessage, error) {
	l, err := c.borrow(ctx)
	if err != nil {
		return nil, err
	}
	defer c.giveBack(l)
	if err := l.knows(req); err != nil {
		return nil, err
	}
	return l.ask(ctx, req)
}

// borrow returns a connection for one request: the shared one, or from a plain
// server one that is free.
func (c *Client) borrow(ctx context.Context) (*link, error) {
	if !c.Extended() {
		if l := c.popIdle(); l != nil {
			return l, nil
		}
		return c.connect(ctx, false)
	}
	select {
	case c.dialing <- struct{}{}:
		defer func() { <-c.dialing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	c.mu.Lock()
	old := c.shared
	c.mu.Unlock()
	if old != nil && old.alive() {
		return old, nil
	}
	if old != nil {
		c.drop(old)
	}
	l, err := c.connect(ctx, false)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.extended() {
		c.shared = l
	}
	return l, nil
}

func (c *Client) popIdle() *link {
	for {
		c.mu.Lock()
		n := len(c.idle)
		if n == 0 {
			c.mu.Unlock()
			return nil
		}
		l := c.idle[n-1]
		c.idle = c.idle[:n-1]
		c.mu.Unlock()
		if l.alive() {
			return l
		}
		c.drop(l)
	}
}

// giveBack ends a borrow. The shared connection stays where it is.
func (c *Client) giveBack(l *link) {
	if l.extended() {
		return
	}
	c.mu.Lock()
	keep := !c.closed && l.alive() && len(c.idle) < maxIdle
	if keep {
		c.idle = append(c.idle, l)
	}
	c.mu.Unlock()
	if !keep {
		c.drop(l)
	}
}

// connect makes a new connection and introduces us. own says that it will serve
// one request only.
func (c *Client) connect(ctx context.Context, own bool) (*link, error) {
	if c.isClosed() {
		return nil, ErrClosed
	}
	t, err := dialTransport(ctx, c.target, c.opts)
	if err != nil {
		return nil, err
	}
	l := newLink(t, c.opts, own)
	if err := c.adopt(l); err != nil {
		l.close()
		return nil, err
	}
	if !c.Extended() {
		return l, nil
	}
	if err := l.greet(ctx); err != nil {
		c.drop(l)
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hello, c.plain = l.hello, l.hello == nil
	return l, nil
}

// connectExtended is connect for requests that only the additions have.
func (c *Client) connectExtended(ctx context.Context) (*link, error) {
	if !c.Extended() {
		return nil, ErrPlain
	}
	l, err := c.connect(ctx, true)
	if err == nil && !l.extended() {
		c.drop(l)
		return nil, ErrPlain
	}
	return l, err
}

func (c *Client) adopt(l *link) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrClosed
	}
	c.links[l] = struct{}{}
	return nil
}

func (c *Client) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// drop closes a connection and forgets it.
func (c *Client) drop(l *link) {
	l.close()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.links, l)
}

// knows reports whether the server at the other end can make sense of req. A
// plain server would skip an unknown thread and act on the main conversation.
func (l *link) knows(req *wire.ClientMessage) error {
	if l.extended() {
		return nil
	}
	m := req.ProtoReflect()
	variant := m.WhichOneof(m.Descriptor().Oneofs().ByName("message"))
	if variant == nil {
		return nil
	}
	if variant.Number() >= 200 || setString(m.Get(variant).Message(), "thread") {
		return ErrPlain
	}
	return nil
}

func setString(m protoreflect.Message, name protoreflect.Name) bool {
	fd := m.Descriptor().Fields().ByName(name)
	return fd != nil && m.Has(fd)
}

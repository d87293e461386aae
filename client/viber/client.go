package viber

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	wire "parley.internal/protocol/viber"
)

// Client talks to one server. Its methods may be called from many goroutines.
type Client struct {
	target string
	opts   Options

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup
	done   chan struct{} // closed when the client has ended

	mu     sync.Mutex // guards the rest; never held while waiting; taken after a link's
	link   *link      // nil while there is none
	up     chan struct{}
	last   *link // the latest there was
	err    error // why the client has ended
	secret string

	tasks     map[string]*Task
	terminals map[string]*Terminal
	approvals inbox
}

// Dial reaches a server at ws:// or wss:// and authenticates. ctx bounds the
// dialling only. A first attempt that fails is not repeated.
func Dial(ctx context.Context, target string, opts Options) (*Client, error) {
	c := &Client{
		target: target, opts: opts.withDefaults(), done: make(chan struct{}), up: make(chan struct{}),
		secret: opts.Token, tasks: make(map[string]*Task), terminals: make(map[string]*Terminal),
	}
	c.ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	l, err := c.connect(ctx)
	if err != nil {
		c.cancel()
		return nil, err
	}
	c.adopt(l)
	c.wg.Go(func() { c.run(l) })
	return c, nil
}

// Welcome returns how the server introduced itself, the last time.
func (c *Client) Welcome() wire.Welcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	return *c.last.welcome
}

// Has reports whether the server announced a capability.
func (c *Client) Has(capability wire.Capability) bool {
	w := c.Welcome()
	return w.Has(capability)
}

// Session returns what we were granted, the last time.
func (c *Client) Session() wire.Authenticated {
	c.mu.Lock()
	l := c.last
	c.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	return *l.session
}

// Done is closed when the client has ended, by Close or because the server will
// not have it.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err says why the client has ended; nil while it has not.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// farewell is how long a server may take to say goodbye.
const farewell = 2 * time.Second

// Close says goodbye, ends the connection and waits until it is gone. Tasks go on
// at the server; streams end with ErrClosed.
func (c *Client) Close() error {
	c.mu.Lock()
	l := c.link
	c.mu.Unlock()
	if l != nil {
		ctx, cancel := context.WithTimeout(c.ctx, farewell)
		defer cancel()
		// Whatever comes of it, we leave.
		_, _ = l.do(ctx, &wire.Close{}, &request{answers: is[*wire.Goodbye]})
	}
	c.cancel()
	c.wg.Wait()
	return nil
}

// run keeps a connection up until the client ends.
func (c *Client) run(l *link) {
	retry := backoff{min: c.opts.RetryMin, max: c.opts.RetryMax}
	for {
		since := time.Now()
		c.restore(l)
		select {
		case <-l.dead:
		case <-c.ctx.Done():
		}
		err := l.reason()
		l.close()
		c.lost(err)
		if l, err = c.comeBack(&retry, time.Since(since), err); err != nil {
			c.finish(err)
			return
		}
		c.adopt(l)
	}
}

// comeBack dials until there is a connection or no hope.
func (c *Client) comeBack(retry *backoff, held time.Duration, err error) (*link, error) {
	for {
		if c.ctx.Err() != nil {
			return nil, ErrClosed
		}
		if permanent(err) {
			return nil, err
		}
		timer := time.NewTimer(retry.next(held, err))
		select {
		case <-timer.C:
		case <-c.ctx.Done():
			timer.Stop()
			return nil, ErrClosed
		}
		held = 0
		ctx, cancel := context.WithTimeout(c.ctx, handshakeTimeout)
		var l *link
		l, err = c.connect(ctx)
		cancel()
		if err == nil {
			return l, nil
		}
	}
}

func (c *Client) adopt(l *link) {
	c.mu.Lock()
	c.link, c.last = l, l
	c.approvals.startOver()
	close(c.up)
	c.mu.Unlock()
	l.start()
	if c.opts.OnChange != nil {
		c.opts.OnChange(nil)
	}
}

func (c *Client) lost(why error) {
	c.mu.Lock()
	c.link, c.up = nil, make(chan struct{})
	for _, t := range c.tasks {
		t.live = false
	}
	c.mu.Unlock()
	if c.opts.OnChange != nil && why != nil {
		c.opts.OnChange(why)
	}
}

// finish ends everything that is left.
func (c *Client) finish(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
	for _, t := range c.tasks {
		t.q.finish(err)
	}
	for _, t := range c.terminals {
		t.q.finish(err)
	}
	c.approvals.finish(err)
	clear(c.tasks)
	clear(c.terminals)
	c.cancel()
	close(c.done)
}

// restore picks up on a new connection what was followed on the one before.
func (c *Client) restore(l *link) {
	c.mu.Lock()
	var tasks []*Task
	for _, t := range c.tasks {
		if t.on != l {
			tasks = append(tasks, t)
		}
	}
	var terminals []*Terminal
	for _, t := range c.terminals {
		if t.on != l {
			terminals = append(terminals, t)
		}
	}
	c.mu.Unlock()
	for _, t := range tasks {
		t.resume(l)
	}
	for _, t := range terminals {
		t.attachAgain(l)
	}
	c.reconcile(l)
}

// current returns the connection, waiting for one if need be.
func (c *Client) current(ctx context.Context) (*link, error) {
	for {
		c.mu.Lock()
		l, up, err := c.link, c.up, c.err
		c.mu.Unlock()
		if err != nil || l != nil {
			return l, err
		}
		select {
		case <-up:
		case <-c.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// ask sends a request that the server can understand and waits for its answer.
func (c *Client) ask(ctx context.Context, p wire.Payload, r *request) (wire.Message, error) {
	l, err := c.reach(ctx, p)
	if err != nil {
		return wire.Message{}, err
	}
	return l.do(ctx, p, r)
}

// tell sends a request and waits for its answer if the server is one that marks
// answers; else it is only sent, as the base has nothing to wait for.
func (c *Client) tell(ctx context.Context, p wire.Payload, answers func(wire.Payload) bool) (wire.Message, error) {
	l, err := c.reach(ctx, p)
	if err != nil {
		return wire.Message{}, err
	}
	if !l.marksAnswers() {
		return wire.Message{}, l.send(newID(), p)
	}
	return l.do(ctx, p, &request{answers: answers})
}

// reach returns a connection to a server that knows p.
func (c *Client) reach(ctx context.Context, p wire.Payload) (*link, error) {
	l, err := c.current(ctx)
	if err != nil {
		return nil, err
	}
	if need := wire.NeedsCapability(p.Type()); need != "" && !l.welcome.Has(need) {
		return nil, &UnsupportedError{need}
	}
	return l, nil
}

// route gives a frame to whoever follows what it is about.
func (c *Client) route(m wire.Message, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch p := m.Body.(type) {
	case *wire.TaskSnapshot:
		c.routeSnapshot(m, p, size)
		return
	case *wire.ApprovalRequired:
		c.approvals.required(p)
	case *wire.ApprovalResolved:
		c.approvals.resolved(p)
	}
	if e, ok := m.Body.(wire.TaskEvent); ok {
		c.routeEvent(m, e, size)
	}
	if id := wire.TerminalOf(m.Body); id != "" {
		c.routeTerminal(m, id, size)
	}
}

// is recognises an answer by its type.
func is[P wire.Payload](p wire.Payload) bool {
	_, ok := p.(P)
	return ok
}

func (c *Client) token() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.secret
}

func (c *Client) learnToken(token string) {
	if token == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.secret = token
}

// ended reports whether a stream came to its natural end.
func ended(err error) bool { return errors.Is(err, io.EOF) }

package talk

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"parley.internal/internal/identity"
	"parley.internal/internal/wsconn"
	wire "parley.internal/protocol/agentfirst"
)

// errLeft is why a connection's work ends when the client goes.
var errLeft = errors.New("the client left")

// link is how a connection's bytes go out.
type link interface {
	// send queues a payload and never blocks. Messages of one key keep their order;
	// one that may be merged joins the waiting one before it.
	send(payload []byte, key string, merge bool)
	// queued is how many bytes wait.
	queued() int
	// cut ends the connection without what waits.
	cut(code wsconn.Code, reason string)
	// known says that the client has proven who it is.
	known()
}

// conn is one client. Its transport calls receive for each message, one at a
// time, and left once at the end.
type conn struct {
	face    *Face
	link    link
	address string

	ctx    context.Context // ends with the connection
	cancel context.CancelCauseFunc
	work   sync.WaitGroup
	slots  chan struct{} // one per request in progress

	extended atomic.Bool // has said hello

	mu       sync.Mutex
	session  *identity.Actor
	live     *identity.Live
	login    *time.Timer
	lane     []func() // plain runs that wait for the one before
	running  bool     // somebody works the lane
	attached map[attachKey]context.CancelFunc
	uploads  map[uint64]*upload
}

func (f *Face) newConn(l link, address string) *conn {
	ctx, cancel := context.WithCancelCause(context.Background())
	return &conn{
		face: f, link: l, address: address, ctx: ctx, cancel: cancel, slots: make(chan struct{}, f.limits.InProgress),
		attached: map[attachKey]context.CancelFunc{}, uploads: map[uint64]*upload{},
	}
}

// open begins the connection: with a session, or with ten seconds to get one.
func (c *conn) open(s *identity.Actor) {
	if s != nil {
		c.adopt(*s)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.login = time.AfterFunc(c.face.limits.Login, func() {
		c.mu.Lock()
		late := c.session == nil
		c.mu.Unlock()
		if late {
			c.end(wire.CloseUnauthenticated, "not authenticated in time")
		}
	})
}

// adopt makes the connection a session's.
func (c *conn) adopt(s identity.Actor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.login != nil {
		c.login.Stop()
	}
	if c.live != nil {
		c.live.Release()
		c.live = nil
	}
	c.session = &s
	if s.TokenID != "" || s.PageID != "" {
		c.live = c.face.d.People.Track(s, func(reason identity.Reason) {
			c.end(wire.CloseUnauthenticated, string(reason))
		})
	}
	c.link.known()
}

// end cuts the connection from our side.
func (c *conn) end(code wsconn.Code, reason string) {
	c.cancel(errors.New(reason))
	c.link.cut(code, reason)
}

// left ends everything the connection has going on and waits for it.
func (c *conn) left() {
	c.cancel(errLeft)
	c.mu.Lock()
	if c.login != nil {
		c.login.Stop()
	}
	if c.live != nil {
		c.live.Release()
	}
	for id, u := range c.uploads {
		u.discard()
		delete(c.uploads, id)
	}
	c.mu.Unlock()
	c.work.Wait()
}

// receive takes one message. It returns false when the connection is over.
func (c *conn) receive(payload []byte) bool {
	msg, err := wire.UnmarshalClient(payload)
	if err != nil {
		c.end(wsconn.CodeInvalid, "not a message of this protocol")
		return false
	}
	c.dispatch(&request{c: c, id: msg.GetRequestId(), msg: msg})
	return c.ctx.Err() == nil
}

// request is one message of a client on its way to its answer.
type request struct {
	c   *conn
	id  uint64
	msg *wire.ClientMessage
	who identity.Actor

	run, key string // of the events that are sent
}

// dispatch finds what a message asks for and answers it, now or in its turn.
func (c *conn) dispatch(r *request) {
	number, known := wire.ClientVariant(r.msg)
	h := handlers[number]
	if err := c.admit(r, number, known, h); err != nil {
		r.fail(err)
		return
	}
	switch {
	case h.now != nil:
		r.guard(func() { r.answer(h.now(r)) })
	case h.begin != nil:
		r.guard(func() {
			if err := h.begin(r); err != nil {
				r.fail(err)
			}
		})
	case r.id == 0 && h.serial:
		c.inProgress(r, h.work, c.enqueue)
	default:
		c.inProgress(r, h.work, c.work.Go)
	}
}

// admit says what is wrong with asking this at all, if anything is.
func (c *conn) admit(r *request, number int, known bool, h handler) error {
	if h.open {
		return nil
	}
	c.mu.Lock()
	s := c.session
	c.mu.Unlock()
	switch {
	case s == nil:
		return errNoLogin
	case number == 0 && !known:
		return bad("the message is empty")
	case !known:
		return bad("unknown request %d", number)
	case !MayTalk(*s):
		return errNoScope
	case h.manage && !s.Scopes.Has(identity.AgentsManage):
		return errNoManager
	case number >= firstAddition && !c.extended.Load():
		return errPlain
	}
	r.who = *s
	return nil
}

// inProgress runs a request that takes its time, when there is room for one more.
// Until there is, nothing more is read from the client.
func (c *conn) inProgress(r *request, work func(*request) error, start func(func())) {
	select {
	case c.slots <- struct{}{}:
	case <-c.ctx.Done():
		return
	}
	if !c.face.begin() {
		<-c.slots
		r.fail(errStopping)
		return
	}
	start(func() {
		defer func() {
			c.face.done()
			<-c.slots
		}()
		r.guard(func() {
			if err := work(r); err != nil {
				r.fail(err)
			}
		})
	})
}

// enqueue runs plain runs one after another.
func (c *conn) enqueue(fn func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lane = append(c.lane, fn)
	if c.running {
		return
	}
	c.running = true
	c.work.Go(func() {
		for {
			c.mu.Lock()
			if len(c.lane) == 0 {
				c.running = false
				c.mu.Unlock()
				return
			}
			next := c.lane[0]
			c.lane = c.lane[1:]
			c.mu.Unlock()
			next()
		}
	})
}

// guard keeps a mistake in a handler from ending the hub.
func (r *request) guard(fn func()) {
	defer func() {
		if cause := recover(); cause != nil {
			r.fail(panicked(cause))
		}
	}()
	fn()
}

func panicked(cause any) error { return fmt.Errorf("panic: %v\n%s", cause, debug.Stack()) }

// answer sends the one answer of a request.
func (r *request) answer(m *wire.ServerMessage, err error) {
	if err != nil {
		r.fail(err)
		return
	}
	r.send(m, "", false)
}

// fail sends an error answer, unless nobody is there to read it.
func (r *request) fail(err error) {
	if r.c.ctx.Err() != nil {
		return
	}
	r.send(r.c.face.errorMessage(err), "", false)
}

// send is the only way out: here plain clients are spared what they do not know.
func (r *request) send(m *wire.ServerMessage, key string, merge bool) {
	if !r.c.extended.Load() && !wire.ForPlain(m) {
		return
	}
	m.RequestId = r.id
	payload, err := wire.Marshal(m)
	if err != nil {
		instead := r.c.face.errorMessage(fmt.Errorf("the answer: %w", err))
		instead.RequestId = r.id
		if payload, err = wire.Marshal(instead); err != nil {
			r.c.face.log.Error("an error answer cannot be encoded", "error", err)
			return
		}
		merge = false
	}
	r.c.link.send(payload, key, merge)
}

// bulk is how much of a long answer may wait before more of it is made.
const bulk = 1 << 20

// room waits until a long answer may go on. Live events never do.
func (c *conn) room(ctx context.Context) error {
	for c.link.queued() > bulk {
		wait := time.NewTimer(5 * time.Millisecond)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return context.Cause(ctx)
		}
	}
	return context.Cause(ctx)
}

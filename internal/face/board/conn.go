package board

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"parley.internal/internal/face/front"
	"parley.internal/internal/identity"
	"parley.internal/internal/ids"
	"parley.internal/internal/work"
	"parley.internal/internal/wsconn"
	"parley.internal/protocol/viber"
)

// errLeft is why what a connection has going on ends with it.
var errLeft = errors.New("the client left")

// conn is one client.
type conn struct {
	face    *Face
	ws      *wsconn.Conn
	id      string // tells the submits of this connection from others
	frames  frameIDs
	address string
	local   bool
	cookie  string // of a page
	nonce   string
	issued  time.Time

	caller *front.Caller

	ctx    context.Context // ends with the connection
	cancel context.CancelCauseFunc
	work   sync.WaitGroup
	// tasks and typing are the lanes in which requests are done in order.
	tasks, typing lane
	// saying has the messages to tasks.
	saying   perTask
	messages *rate.Limiter
	beats    *rate.Limiter
	input    *rate.Limiter

	mu       sync.Mutex    // guards the rest; taken after a desk's
	login    *login        // nil until authenticated
	desk     *work.Desk    // what it is shown of tasks; there once it may make requests
	ending   bool          // nothing more is taken from the client
	leaving  *wsconn.Close // how the hub ends it; nil until it has said so
	farewell *time.Timer   // until the client has had its time to say goodbye
	asked    bool          // has made a request
	errors   []time.Time
	viewers  map[string]*viewer
	misused  map[string]bool // what is on record already
}

// login is who a connection is. It is replaced, never changed.
type login struct {
	id      string // session_id
	session identity.Actor
	live    *identity.Live
	role    viber.Role
	device  string
}

func (f *Face) newConn(ws *wsconn.Conn, address string, local bool) *conn {
	c := &conn{
		face: f, ws: ws, id: ids.New(), address: address, local: local, frames: newFrameIDs(),
		messages: rate.NewLimiter(rate.Limit(f.limits.MessagesPerSecond), 2*f.limits.MessagesPerSecond),
		beats:    rate.NewLimiter(10, 10),
	}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	return c
}

// welcome is the first frame, whatever the client does.
func (c *conn) welcome() {
	c.nonce, c.issued = c.face.nonces.issue(), time.Now()
	limits := c.face.limits.Limits
	c.send(&viber.Welcome{
		DaemonVersion: c.face.d.Version, ProtocolVersion: viber.Version, Challenge: c.nonce, Capabilities: viber.Capabilities(),
		Limits: &limits, Auth: &viber.WelcomeAuth{ChallengeRequired: c.mustSign(viber.RoleOperator, "")},
	}, "")
	c.ws.SetDeadline(c.face.limits.Login, func(*wsconn.Conn) {
		c.fatal(viber.NewError(viber.CodeAuthFailed, viber.ReasonAuthTimeout, "nobody authenticated in time"), viber.CloseTimeout, "")
	})
	if !c.face.register(c) {
		c.leave(viber.GoodbyeShutdown, wsconn.CodeGoingAway)
	}
}

// Message takes one frame.
func (c *conn) Message(_ *wsconn.Conn, kind wsconn.Kind, data []byte) {
	if c.over() {
		return
	}
	if kind != wsconn.Text {
		if c.allow("", "") {
			c.violation(viber.BinaryFrame(), "")
		}
		return
	}
	m, err := viber.DecodeFromClient(data)
	if c.who() == nil && m.Type != "" && !viber.AllowedBeforeAuth(m.Type) {
		c.fatal(viber.NewError(viber.CodeAuthFailed, viber.ReasonNotAuthenticated, "authenticate first"), viber.CloseAuth, m.ID)
		return
	}
	if !c.allow(m.Type, m.ID) {
		return
	}
	if err != nil {
		v, ok := errors.AsType[*viber.Violation](err)
		if !ok {
			v = &viber.Violation{Reason: viber.ReasonBadJSON, Message: "the frame cannot be read"}
		}
		c.violation(v, m.ID)
		return
	}
	c.guard(m.ID, func() { c.dispatch(m) })
}

// Closed is the end of the connection.
func (c *conn) Closed(_ *wsconn.Conn, why wsconn.Ended) {
	c.cut(why)
	c.cancel(errLeft)
	c.face.nonces.forget(c.nonce)
	c.face.unregister(c)
	c.caller.Gone()
	c.mu.Lock()
	c.ending = true
	l, desk := c.login, c.desk
	if c.farewell != nil {
		c.farewell.Stop()
	}
	c.mu.Unlock()
	if l != nil && l.live != nil {
		l.live.Release()
	}
	if desk != nil {
		desk.Close()
	}
	c.work.Wait()
}

// dispatch does what a message asks, now or in its turn.
func (c *conn) dispatch(m viber.Message) {
	switch p := m.Body.(type) {
	case *viber.Ping:
		c.sendBy(c.ws.Answer, &viber.Pong{}, m.ID)
		return
	case *viber.HealthPing:
		c.sendBy(c.ws.Answer, p.Pong(time.Now()), m.ID)
		return
	case *viber.Pong, *viber.HealthPong:
		return
	case *viber.Auth:
		c.authenticate(p, m.ID)
		return
	case *viber.Close:
		// Behind the answers to what was asked before.
		c.tasks.put(c, func() { c.saying.wait(); c.guard(m.ID, func() { c.bye(m.ID) }) })
		return
	case *viber.Goodbye:
		c.end(wsconn.CodeNormal, "")
		return
	}
	l := c.who()
	if need := viber.ScopeFor(m.Type); need != "" && !l.session.Scopes.Has(string(need)) {
		c.send(viber.NewInsufficientScope(need, l.session.Scopes.Sorted()), m.ID)
		return
	}
	c.mu.Lock()
	c.asked = true
	c.mu.Unlock()
	r := &request{c: c, id: m.ID, login: l}
	switch m.Body.(type) {
	case *viber.TerminalInput, *viber.TerminalResize:
		c.typing.put(c, func() { r.guard(func() { r.terminal(m.Body) }) })
	default:
		c.tasks.put(c, func() { r.guard(func() { r.do(m.Body) }) })
	}
}

// request is one message on its way to its answer.
type request struct {
	c     *conn
	id    string
	login *login
}

func (r *request) guard(fn func()) { r.c.guard(r.id, fn) }

func (r *request) answer(p viber.Payload) { r.c.send(p, r.id) }

// who is the session as the domain sees it: with what was granted.
func (r *request) who() identity.Actor { return r.login.session }

// do answers what is not about typing.
func (r *request) do(p viber.Payload) {
	if r.c.desk == nil { // the hub was about to stop when the client came
		r.fail(work.ErrShuttingDown, "")
		return
	}
	switch p := p.(type) {
	case *viber.Refresh:
		r.refresh(p)
	case *viber.TokenRotate:
		r.rotate(p)
	case *viber.TaskSubmit:
		r.submit(p)
	case *viber.TaskStop:
		r.stop(p)
	case *viber.TaskMessage:
		// Behind what was asked before, and not in front of what is asked after: the hub
		// that has the task may hang.
		r.c.saying.put(r.c, p.TaskID, func() { r.guard(func() { r.message(p) }) })
	case *viber.TaskResume:
		r.resume(p)
	case *viber.TaskUnsubscribe:
		r.unsubscribe(p)
	case *viber.TaskList:
		r.list(p)
	case *viber.ApprovalResponse:
		r.respond(p)
	case *viber.ApprovalList:
		r.approvals()
	default:
		r.terminal(p)
	}
}

// guard keeps a mistake of ours from ending more than one request.
func (c *conn) guard(id string, fn func()) {
	defer func() {
		if cause := recover(); cause != nil {
			c.face.log.Error("a board request panicked", "panic", fmt.Sprint(cause), "stack", string(debug.Stack()))
			c.send(viber.NewError(viber.CodeInternalError, "", "something went wrong in the hub; its log has the cause"), id)
		}
	}()
	fn()
}

// send queues a frame. One for a connection that has ended goes nowhere.
func (c *conn) send(p viber.Payload, replyTo string) { c.sendBy(c.ws.Send, p, replyTo) }

// sendBy is send in one of the connection's ways.
func (c *conn) sendBy(send func(wsconn.Message) error, p viber.Payload, replyTo string) {
	data, err := viber.Encode(viber.Header{ID: c.frames.next(), At: happened(p), ReplyTo: replyTo}, p)
	if err != nil {
		c.face.log.Error("a frame cannot be encoded", "type", p.Type(), "error", err)
		return
	}
	_ = send(message(p, data)) // a closed connection has told the handler, or will
	if e, ok := p.(*viber.ConnectionError); ok {
		c.misuse(e)
	}
}

// happened is when what a frame tells was: events that are shown again keep their time.
func happened(p viber.Payload) time.Time {
	if e, ok := p.(viber.TaskEvent); ok && !e.Ref().At.IsZero() {
		return e.Ref().At
	}
	return time.Now()
}

// message says what may happen to a frame whose reader is slow: neighbouring text
// of a task is joined, everything else must arrive.
func message(p viber.Payload, data []byte) wsconn.Message {
	m := wsconn.Message{Kind: wsconn.Text, Data: data}
	if e, ok := p.(viber.TaskEvent); ok {
		m.Key = e.Ref().TaskID
		if d, ok := p.(*viber.TaskDelta); ok && d.DeltaType == viber.DeltaText {
			m.Policy, m.Join = wsconn.Merge, joinDeltas
		}
	}
	return m
}

// joinDeltas makes one frame of two that wait.
func joinDeltas(older, newer []byte) ([]byte, bool) {
	a, errA := viber.DecodeFromServer(older)
	b, errB := viber.DecodeFromServer(newer)
	first, isA := a.Body.(*viber.TaskDelta)
	second, isB := b.Body.(*viber.TaskDelta)
	if errA != nil || errB != nil || !isA || !isB {
		return nil, false
	}
	merged := viber.MergeText([]*viber.TaskDelta{first, second}, viber.MaxFrame)
	if len(merged) != 1 {
		return nil, false
	}
	// A request's first answer may be the older one; it keeps its name.
	out, err := viber.Encode(viber.Header{ID: b.ID, At: b.Timestamp, ReplyTo: a.ReplyTo}, merged[0])
	return out, err == nil
}

// bulk is how much of a long answer may wait before more of it is made.
const bulk = 512 << 10

// room waits until a long answer may go on. Live events never do.
func (c *conn) room(ctx context.Context) error {
	for {
		if _, waiting := c.ws.Queued(); waiting <= bulk {
			return context.Cause(ctx)
		}
		pause := time.NewTimer(5 * time.Millisecond)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return context.Cause(ctx)
		}
	}
}

// who is the present login; nil before there is one.
func (c *conn) who() *login {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.login
}

// may reports whether the connection was granted a scope.
func (c *conn) may(scope string) bool {
	l := c.who()
	return l != nil && l.session.Scopes.Has(scope)
}

func (c *conn) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ending
}

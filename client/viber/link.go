package viber

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	wire "parley.internal/protocol/viber"
)

// maxRead is above anything a server may send: the largest text, every byte of
// it escaped.
const maxRead = 32 << 20

// link is one connection: a reader that gives each frame to the request it
// answers and to whoever follows what it is about.
type link struct {
	conn    *websocket.Conn
	opts    *Options
	welcome *wire.Welcome
	// route is given every frame that is about something, in order.
	route func(wire.Message, int)

	ctx    context.Context // ends with the link
	cancel context.CancelFunc

	mu      sync.Mutex // guards the rest; never held while waiting
	session *wire.Authenticated
	pending []*request // in the order sent
	// correlates says that this server marks answers with reply_to.
	correlates bool
	lastErr    error // an error that answers no request: perhaps why it will close
	err        error // why the link is dead

	dead chan struct{} // closed with err set
	wg   sync.WaitGroup
}

// request waits for one answer.
type request struct {
	id string
	// answers tells the answer by what it is, for servers that do not mark it.
	answers func(wire.Payload) bool
	// accept, if set, sees the answer before any later frame is read.
	accept func(wire.Message)

	done   chan struct{}
	answer wire.Message
}

// start begins reading and sending heartbeats.
func (l *link) start() {
	l.wg.Go(l.read)
	l.wg.Go(l.beat)
}

// do sends a request and waits for its answer; a refusal is an error.
func (l *link) do(ctx context.Context, p wire.Payload, r *request) (wire.Message, error) {
	r.id, r.done = newID(), make(chan struct{})
	if err := l.register(r); err != nil {
		return wire.Message{}, err
	}
	defer l.forget(r)
	if err := l.send(r.id, p); err != nil {
		return wire.Message{}, err
	}
	select {
	case <-r.done:
		return r.answer, refusal(r.answer.Body)
	case <-ctx.Done():
		return wire.Message{}, ctx.Err()
	case <-l.dead:
	}
	// The answer may have come with the end.
	select {
	case <-r.done:
		return r.answer, refusal(r.answer.Body)
	default:
		return wire.Message{}, l.reason()
	}
}

func (l *link) register(r *request) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	l.pending = append(l.pending, r)
	return nil
}

func (l *link) forget(r *request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.pending, r); i >= 0 {
		l.pending = slices.Delete(l.pending, i, i+1)
	}
}

// send writes one frame. A failed write ends the link; a message that cannot be
// encoded does not.
func (l *link) send(id string, p wire.Payload) error {
	frame, err := wire.Encode(wire.Header{ID: id, At: time.Now()}, p)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(l.ctx, l.opts.WriteTimeout)
	defer cancel()
	if err := l.conn.Write(ctx, websocket.MessageText, frame); err != nil {
		l.fail(closeReason(err))
		return l.reason()
	}
	return nil
}

// background sends a frame whose fate interests nobody, without holding up the
// caller, which may be the reader.
func (l *link) background(p wire.Payload) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.wg.Go(func() { _ = l.send(newID(), p) }) // a failed write has ended the link, which says it all
	}
}

func (l *link) read() {
	for {
		m, size, err := readFrame(l.ctx, l.conn)
		if err != nil {
			l.fail(err)
			return
		}
		if m.Body != nil {
			l.deliver(m, size)
		}
	}
}

// readFrame reads one frame. One that makes no sense has no body; those after it
// may.
func readFrame(ctx context.Context, conn *websocket.Conn) (wire.Message, int, error) {
	typ, data, err := conn.Read(ctx)
	if err != nil {
		return wire.Message{}, 0, closeReason(err)
	}
	if typ != websocket.MessageText {
		return wire.Message{}, len(data), nil
	}
	m, err := wire.DecodeFromServer(data)
	if err != nil {
		m.Body = nil
	}
	return m, len(data), nil
}

func (l *link) deliver(m wire.Message, size int) {
	r := l.match(m)
	if r != nil && r.accept != nil {
		r.accept(m)
	}
	l.pass(m, size, r != nil)
	if r != nil {
		r.answer = m
		close(r.done)
	}
}

// pass gives a frame to whom it may concern, besides who asked for it.
func (l *link) pass(m wire.Message, size int, answered bool) {
	switch p := m.Body.(type) {
	case *wire.Ping:
		l.background(&wire.Pong{})
	case *wire.HealthPing:
		l.background(p.Pong(time.Now()))
	case *wire.Close:
		// The server leaves; it waits for us to hang up.
		l.fail(&CloseError{Code: leaving(p.Reason), Reason: p.Reason})
	case *wire.TaskError:
		// What answers a request is no event of the task.
		if !answered || p.Ends() {
			l.route(m, size)
		}
	default:
		l.route(m, size)
	}
}

// leaving is the close code that goes with a reason.
func leaving(reason string) wire.CloseCode {
	if reason == wire.GoodbyeReplaced {
		return wire.CloseReplaced
	}
	return wire.CloseGoingAway
}

// match finds the request that m answers and takes it off the list.
func (l *link) match(m wire.Message) *request {
	l.mu.Lock()
	defer l.mu.Unlock()
	var i int
	failure, isError := m.Body.(*wire.ConnectionError)
	switch {
	case m.ReplyTo != "":
		l.correlates = true
		i = slices.IndexFunc(l.pending, func(r *request) bool { return r.id == m.ReplyTo })
	case isError && !l.correlates && len(l.pending) > 0:
		i = 0 // requests are answered in order, as far as anybody can tell
	default:
		i = slices.IndexFunc(l.pending, func(r *request) bool { return r.answers != nil && r.answers(m.Body) })
	}
	if i < 0 {
		if isError {
			l.lastErr = refusal(failure)
		}
		return nil
	}
	r := l.pending[i]
	l.pending = slices.Delete(l.pending, i, i+1)
	return r
}

// beat shows the server that we are there and finds out whether it is.
func (l *link) beat() {
	ticker := time.NewTicker(l.opts.Heartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-l.dead:
			return
		case now := <-ticker.C:
			if l.send(newID(), wire.NewHealthPing(now)) != nil || l.probe() != nil {
				return
			}
		}
	}
}

// probe asks below the protocol, where every server answers.
func (l *link) probe() error {
	ctx, cancel := context.WithTimeout(l.ctx, l.opts.Heartbeat*3/2)
	defer cancel()
	err := l.conn.Ping(ctx)
	if err != nil {
		l.fail(ErrSilent)
	}
	return err
}

// fail ends the link, once, and everything that waits on it.
func (l *link) fail(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	if l.ctx.Err() != nil {
		cause = ErrClosed // the client ends, and reading failed for no other reason
	}
	if l.lastErr != nil && !errors.Is(cause, ErrClosed) {
		cause = errors.Join(l.lastErr, cause)
	}
	l.err = fmt.Errorf("%w: %w", ErrConnectionLost, cause)
	if errors.Is(cause, ErrClosed) {
		l.err = ErrClosed
	}
	close(l.dead)
	l.cancel()
}

func (l *link) reason() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// close ends the link and waits for its goroutines.
func (l *link) close() {
	l.fail(ErrClosed)
	_ = l.conn.CloseNow()
	l.wg.Wait()
}

func (l *link) marksAnswers() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.correlates
}

// closeReason turns a close frame into a *CloseError.
func closeReason(err error) error {
	if c, ok := errors.AsType[websocket.CloseError](err); ok {
		return &CloseError{Code: wire.CloseCode(c.Code), Reason: c.Reason}
	}
	return err
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

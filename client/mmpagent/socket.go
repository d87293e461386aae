package mmpagent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/board"
	"parley.internal/protocol/mmp/relay"
)

// errSocketGone says that the WebSocket ended before the answer came.
var errSocketGone = errors.New("the connection ended before the answer came")

const (
	// socketAgain is when a WebSocket is tried again that could not be opened: what is
	// between may not let any through.
	socketAgain = 5 * time.Minute
	// A place that is silent is asked for a sign of life, so that one that went away
	// without a word is noticed.
	socketPing, socketPong = 30 * time.Second, 20 * time.Second
)

// connected is the agent's WebSocket; nil without a living one.
func (a *Agent) connected() *socket {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.socket == nil || a.socket.gone() {
		return nil
	}
	return a.socket
}

// connect opens a WebSocket at base, unless there is one. From then on calls go by it.
func (a *Agent) connect(ctx context.Context, base string) error {
	if a.opts.NoSocket || a.connected() != nil {
		return nil
	}
	conn, res, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(base, "http")+"/socket", &websocket.DialOptions{HTTPClient: a.http})
	if res != nil && res.Body != nil {
		_ = res.Body.Close()
	}
	if err != nil {
		return err
	}
	conn.SetReadLimit(maxAnswer)
	s := newSocket(conn)
	a.mu.Lock()
	old := a.socket
	a.socket = s
	a.mu.Unlock()
	if old != nil {
		old.close()
	}
	return nil
}

// disconnect ends the WebSocket, if there is one.
func (a *Agent) disconnect() {
	a.mu.Lock()
	s := a.socket
	a.socket = nil
	a.mu.Unlock()
	if s != nil {
		s.close()
	}
}

// ask is a request as a frame; the socket gives it its id.
func (a *Agent) ask(address string, r request, body []byte) mmp.Ask {
	q := mmp.Ask{Method: r.method, Path: strings.TrimPrefix(address, a.base), Body: body, IdempotencyKey: r.header.Get("Idempotency-Key")}
	if !r.bare {
		q.Token = a.Token()
	}
	return q
}

// socket is a WebSocket to a place or to an agent: requests and their answers, as over
// HTTP, in any order.
type socket struct {
	conn *websocket.Conn
	done chan struct{}
	stop context.CancelFunc
	work sync.WaitGroup

	mu      sync.Mutex
	last    int
	waiting map[string]chan mmp.Told
	err     error
}

func newSocket(conn *websocket.Conn) *socket {
	ctx, stop := context.WithCancel(context.Background())
	s := &socket{conn: conn, done: make(chan struct{}), stop: stop, waiting: map[string]chan mmp.Told{}}
	s.work.Go(func() { s.read(ctx) })
	s.work.Go(func() { s.watch(ctx) })
	return s
}

func (s *socket) gone() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

func (s *socket) close() {
	s.stop()
	_ = s.conn.CloseNow() // nothing is on its way that anybody waits for
	s.work.Wait()
}

// read hands answers to whoever asked. An answer nobody waits for any more is dropped: the
// messages in it come again when their lease ends.
func (s *socket) read(ctx context.Context) {
	defer s.stop()
	for {
		_, frame, err := s.conn.Read(ctx)
		var told mmp.Told
		if err == nil && mmp.Decode(frame, &told) != nil {
			err = errors.New("what came is no answer")
		}
		if err != nil {
			s.mu.Lock()
			s.err = fmt.Errorf("%w: %w", errSocketGone, err)
			s.mu.Unlock()
			close(s.done)
			_ = s.conn.CloseNow()
			return
		}
		s.mu.Lock()
		to := s.waiting[told.ID]
		s.mu.Unlock()
		if to != nil {
			select {
			case to <- told:
			case <-ctx.Done():
			}
		}
	}
}

// watch ends a connection whose other end says nothing.
func (s *socket) watch(ctx context.Context) {
	tick := time.NewTicker(socketPing)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		soon, cancel := context.WithTimeout(ctx, socketPong)
		err := s.conn.Ping(soon)
		cancel()
		if err != nil {
			_ = s.conn.CloseNow()
			return
		}
	}
}

// begin sends a request; its answers come to the channel until end is called.
func (s *socket) begin(ctx context.Context, q mmp.Ask) (answers chan mmp.Told, id string, err error) {
	answers = make(chan mmp.Told, 1)
	s.mu.Lock()
	s.last++
	id = fmt.Sprint(s.last)
	s.waiting[id] = answers
	s.mu.Unlock()
	q.ID = id
	if err = s.write(ctx, q); err != nil {
		s.end(id)
	}
	return answers, id, err
}

func (s *socket) end(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waiting, id)
}

func (s *socket) write(ctx context.Context, q mmp.Ask) error {
	frame, err := mmp.Encode(q)
	if err != nil {
		return err
	}
	if err := s.conn.Write(ctx, websocket.MessageText, frame); err != nil {
		return fmt.Errorf("%w: %w", errSocketGone, err)
	}
	return nil
}

// answer waits for the next answer of a request.
func (s *socket) answer(ctx context.Context, answers chan mmp.Told) ([]byte, error) {
	select {
	case told := <-answers:
		if told.Status < 200 || told.Status > 299 {
			return nil, readError(told.Status, told.Body, 0)
		}
		return told.Body, nil
	case <-s.done:
		s.mu.Lock()
		defer s.mu.Unlock()
		return nil, s.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// ask makes a request and waits for its answer. One that is given up is taken back.
func (s *socket) ask(ctx context.Context, q mmp.Ask) ([]byte, error) {
	answers, id, err := s.begin(ctx, q)
	if err != nil {
		return nil, err
	}
	defer s.end(id)
	body, err := s.answer(ctx, answers)
	if ctx.Err() != nil {
		s.cancel(id)
	}
	return body, err
}

func (s *socket) cancel(id string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = s.write(ctx, mmp.Ask{ID: id, Cancel: true}) // a connection that ends takes it back, too
}

// inflow is where an agent's messages come from: a queue that is followed by WebSocket,
// or requests that wait.
type inflow struct {
	agent *Agent
	opts  ReceiveOptions

	socket  *socket
	id      string
	answers chan mmp.Told
	begun   bool      // an answer came, so that the next one has to be asked for
	tried   time.Time // when a socket could not be opened
	renewed bool
}

// next gives what came. It may be nothing.
func (f *inflow) next(ctx context.Context) ([]Message, error) {
	if !f.opts.Manual || !f.agent.offers(ctx, board.FeatureWebSocket) || f.agent.opts.NoSocket || !f.open(ctx) {
		return f.agent.Receive(ctx, f.opts)
	}
	body, err := f.followed(ctx)
	if err != nil {
		f.stop()
		if errNoSession(err) && !f.renewed && f.agent.ring().RSA != nil {
			f.renewed = true
			_, err = f.agent.Register(ctx)
			return nil, err
		}
		return nil, err
	}
	f.renewed = false
	var out relay.ReceiveAnswer
	if err := mmp.DecodeTolerant(body, &out); err != nil {
		return nil, err
	}
	return f.agent.opened(ctx, f.opts, out)
}

// open sees to it that the queue is followed; false when it cannot be.
func (f *inflow) open(ctx context.Context) bool {
	if f.socket != nil && !f.socket.gone() {
		return true
	}
	f.socket, f.begun = nil, false
	if !f.tried.IsZero() && time.Since(f.tried) < socketAgain {
		return false
	}
	if err := f.agent.connect(ctx, f.agent.base+"/place/v1"); err != nil {
		f.tried = time.Now()
		return false
	}
	s := f.agent.connected()
	if s == nil {
		return false
	}
	q := f.opts.values(f.agent.ID())
	q.Set("follow", "true")
	answers, id, err := s.begin(ctx, f.agent.ask("/place/v1/relay/receive?"+q.Encode(), request{method: http.MethodGet}, nil))
	if err != nil {
		return false
	}
	f.socket, f.answers, f.id, f.tried = s, answers, id, time.Time{}
	return true
}

func (f *inflow) followed(ctx context.Context) ([]byte, error) {
	if f.begun {
		if err := f.socket.write(ctx, mmp.Ask{ID: f.id}); err != nil {
			return nil, err
		}
		f.begun = false
	}
	body, err := f.socket.answer(ctx, f.answers)
	f.begun = err == nil
	return body, err
}

// stop ends the following; the socket stays for other calls until the agent closes.
func (f *inflow) stop() {
	if f.socket != nil {
		f.socket.end(f.id)
		f.socket.cancel(f.id)
		f.socket = nil
	}
}

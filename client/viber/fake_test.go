package viber_test

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"go.uber.org/goleak"

	client "parley.internal/client/viber"
	wire "parley.internal/protocol/viber"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// board is a server that runs one handler per connection, in memory.
type board struct {
	t      *testing.T
	base   bool // it knows the base alone, and is strict about it
	handle func(*conn)
	wrap   func(net.Conn) net.Conn // spoils the client's end of a connection

	pipes chan net.Conn
	gone  chan struct{}
	http  *http.Server
	wg    sync.WaitGroup

	mu    sync.Mutex
	conns []time.Time // when each connection came
}

// conn is the server's end of a connection.
type conn struct {
	*board
	n  int // which connection this is, from 1
	ws *websocket.Conn
}

// Accept, Close and Addr make a board the listener of its own HTTP server.
func (b *board) Accept() (net.Conn, error) {
	select {
	case c := <-b.pipes:
		return c, nil
	case <-b.gone:
		return nil, net.ErrClosed
	}
}

func (b *board) Close() error   { return nil }
func (b *board) Addr() net.Addr { return &net.UnixAddr{Name: "board", Net: "pipe"} }

func (b *board) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	if b.wrap != nil {
		theirs = b.wrap(theirs)
	}
	select {
	case b.pipes <- ours:
		return theirs, nil
	case <-b.gone:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (b *board) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ws, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer ws.CloseNow()
	ws.SetReadLimit(wire.MaxFrame)
	b.mu.Lock()
	b.conns = append(b.conns, time.Now())
	c := &conn{b, len(b.conns), ws}
	b.mu.Unlock()
	b.handle(c)
}

// times returns when the connections came.
func (b *board) times() []time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.conns)
}

func (b *board) start() *http.Client {
	b.pipes, b.gone = make(chan net.Conn), make(chan struct{})
	b.http = &http.Server{Handler: b, ReadHeaderTimeout: time.Minute}
	b.wg.Go(func() { _ = b.http.Serve(b) })
	return &http.Client{Transport: &http.Transport{DialContext: b.dial}}
}

func (b *board) stop() {
	close(b.gone)
	_ = b.http.Close()
	b.wg.Wait()
}

// with runs a test against a board, in a bubble whose time stands still while
// anybody works.
func with(t *testing.T, b *board, opts client.Options, test func(t *testing.T, c *client.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b.t = t
		opts.HTTPClient = b.start()
		c, err := client.Dial(t.Context(), "ws://board/ws", opts)
		if err != nil {
			t.Fatal(err)
		}
		defer b.stop()
		defer opts.HTTPClient.CloseIdleConnections()
		defer c.Close()
		test(t, c)
	})
}

// baseFields are the fields of the base for everything its clients may send.
var baseFields = map[wire.Type][]string{
	wire.TypeAuth:  {"device_id", "token", "challenge_response", "role", "scopes"},
	wire.TypeClose: {"reason"}, wire.TypePing: {}, wire.TypeHealthPing: {"client_time"},
	wire.TypeTaskSubmit: {"idempotency_key", "goal", "messages", "plan", "artifacts", "memory", "options"},
	wire.TypeTaskStop:   {"task_id", "reason"}, wire.TypeTaskMessage: {"task_id", "message", "injection_mode"},
	wire.TypeApprovalResponse: {"approval_id", "approved", "reason"},
	wire.TypeTerminalList:     {}, wire.TypeTerminalAttach: {"terminal_id"}, wire.TypeTerminalInput: {"terminal_id", "data"},
	wire.TypeTerminalResize: {"terminal_id", "rows", "cols"}, wire.TypeTerminalDetach: {"terminal_id"},
}

// recv returns the next request that is no heartbeat; nil when the client has gone.
func (c *conn) recv() *wire.Message {
	for {
		typ, data, err := c.ws.Read(context.Background())
		if err != nil {
			return nil
		}
		m, err := wire.DecodeFromClient(data)
		if err != nil || typ != websocket.MessageText {
			c.t.Errorf("the client sent %s: %v", data, err)
			return nil
		}
		if c.base {
			c.checkBase(m)
		}
		if p, ok := m.Body.(*wire.HealthPing); ok {
			c.send(p.Pong(time.Now()), c.mark(&m))
			continue
		}
		return &m
	}
}

func (c *conn) checkBase(m wire.Message) {
	fields, ok := baseFields[m.Type]
	if !ok {
		c.t.Errorf("the base has no %s", m.Type)
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(m.Payload, &members); err != nil {
		c.t.Error(err)
	}
	for name := range members {
		if !slices.Contains(fields, name) {
			c.t.Errorf("the base's %s has no %s", m.Type, name)
		}
	}
}

// mark is the reply_to of an answer, which the base does not have.
func (c *conn) mark(m *wire.Message) string {
	if c.base {
		return ""
	}
	return m.ID
}

// send sends a frame. A client that has gone is not the server's business.
func (c *conn) send(p wire.Payload, replyTo string) {
	frame, err := wire.Encode(wire.Header{ID: uuid.NewString(), At: time.Now(), ReplyTo: replyTo}, p)
	if err != nil {
		c.t.Error(err)
	}
	_ = c.ws.Write(context.Background(), websocket.MessageText, frame)
}

func (c *conn) push(payloads ...wire.Payload) {
	for _, p := range payloads {
		c.send(p, "")
	}
}

// expect returns the next request, which must be of one kind.
func expect[P wire.Payload](c *conn) (P, *wire.Message) {
	var none P
	m := c.recv()
	if m == nil {
		return none, nil
	}
	p, ok := m.Body.(P)
	if !ok {
		c.t.Errorf("the client sent %s, want %T", m.Type, none)
		return none, nil
	}
	return p, m
}

// hello welcomes the client and grants what it asks for.
func (c *conn) hello() *wire.Auth {
	w := &wire.Welcome{DaemonVersion: "1.2.0", ProtocolVersion: "1", Challenge: "nonce", Capabilities: wire.Capabilities()[:3]}
	if !c.base {
		limits := wire.DefaultLimits()
		w.Capabilities, w.Limits, w.Auth = wire.Capabilities(), &limits, &wire.WelcomeAuth{}
	}
	c.push(w)
	auth, m := expect[*wire.Auth](c)
	if m != nil {
		c.send(&wire.Authenticated{SessionID: "s1", GrantedScopes: auth.Scopes}, c.mark(m))
	}
	return auth
}

// bye answers the client's close; anything else before it is not expected.
func (c *conn) bye() {
	m := c.recv()
	if m == nil {
		return
	}
	if _, ok := m.Body.(*wire.Close); !ok {
		c.t.Errorf("the client sent %s instead of a close", m.Type)
		return
	}
	c.send(&wire.Goodbye{Reason: wire.GoodbyeClientClose}, c.mark(m))
	_ = c.ws.Close(websocket.StatusNormalClosure, "")
}

// cut drops the connection without a word.
func (c *conn) cut() { _ = c.ws.CloseNow() }

func (c *conn) hangUp(code wire.CloseCode) {
	// Without waiting for the client's part of it.
	go func() { _ = c.ws.Close(websocket.StatusCode(code), "") }()
	for {
		if _, _, err := c.ws.Read(context.Background()); err != nil {
			return
		}
	}
}

// Events of task t1; of a base server without seq.

func (c *conn) ref(seq int64) wire.TaskRef {
	if c.base {
		return wire.TaskRef{TaskID: "t1"}
	}
	return wire.TaskRef{TaskID: "t1", Seq: seq, Turn: 1}
}

func (c *conn) started(key string) *wire.TaskStarted {
	return &wire.TaskStarted{TaskRef: c.ref(1), IdempotencyKey: key, StartedAt: wire.At(time.Now())}
}

func (c *conn) text(seq int64, s string) *wire.TaskDelta {
	return &wire.TaskDelta{TaskRef: c.ref(seq), DeltaType: wire.DeltaText, Text: s}
}

func (c *conn) completed(seq int64, s string) *wire.TaskCompleted {
	return &wire.TaskCompleted{TaskRef: c.ref(seq), Result: wire.TaskResult{Text: s}}
}

func (c *conn) asks(seq int64, id string) *wire.ApprovalRequired {
	return &wire.ApprovalRequired{TaskRef: c.ref(seq), ApprovalID: id, ToolCall: wire.ToolCall{ID: "c1", Name: "shell", Arguments: jsontext.Value(`{}`)}}
}

// collect gives a task's events in short form, and how the stream ended.
func collect(t *testing.T, task *client.Task) (events []string, err error) {
	t.Helper()
	for m, err := range task.Events(t.Context()) {
		if err != nil {
			return events, err
		}
		switch p := m.Body.(type) {
		case *wire.TaskDelta:
			events = append(events, p.Text)
		case *wire.TaskSnapshot:
			events = append(events, "gap:"+p.Text)
		default:
			events = append(events, string(m.Type))
		}
	}
	return events, nil
}

func submit(t *testing.T, c *client.Client) *client.Task {
	t.Helper()
	task, err := c.Submit(t.Context(), &wire.TaskSubmit{Goal: "g", Options: &wire.TaskOptions{StreamDeltas: true}})
	if err != nil {
		t.Fatal(err)
	}
	return task
}

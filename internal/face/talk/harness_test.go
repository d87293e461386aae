package talk_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"parley.internal/internal/approval"
	"parley.internal/internal/brain"
	"parley.internal/internal/brain/mcpclient"
	"parley.internal/internal/brain/resource"
	"parley.internal/internal/bus"
	"parley.internal/internal/face/front"
	facetalk "parley.internal/internal/face/talk"
	"parley.internal/internal/identity"
	"parley.internal/internal/lease"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/internal/talk"
	"parley.internal/internal/talk/memory"
	"parley.internal/internal/workspace"
	"parley.internal/internal/wsconn"
	wire "parley.internal/protocol/agentfirst"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen; never how long it takes.
const patience = 2 * time.Minute

// hub is a hub with all three ways in.
type hub struct {
	t      testing.TB
	dir    string
	db     *store.DB
	people *identity.Directory
	owner  identity.Person
	engine *talk.Talk
	inbox  *approval.Inbox
	agents *brain.Library
	models *brain.Catalogue
	face   *facetalk.Face
	server *httptest.Server
	token  string // the owner's
}

func newHub(t testing.TB, limits facetalk.Limits, tcp facetalk.TCPOptions) *hub {
	t.Helper()
	h := &hub{t: t, dir: shortDir(t)}
	ctx := t.Context()
	db := storetest.SQLite(t)
	h.db = db
	local := bus.NewLocal()
	t.Cleanup(func() { check(t, local.Close()) })
	leases := must(lease.Join(ctx, db, "test", lease.Options{TTL: time.Minute}))(t)
	t.Cleanup(func() { check(t, leases.Close(context.Background())) })
	h.people = must(identity.Open(ctx, db, local, identity.Options{Recheck: 20 * time.Millisecond}))(t)
	t.Cleanup(func() { check(t, h.people.Close()) })
	first := must(h.people.Bootstrap(ctx, "owner"))(t)
	h.owner, h.token = first.Owner, first.Secret
	h.inbox = must(approval.Open(ctx, db, local, approval.Options{}))(t)
	t.Cleanup(func() { check(t, h.inbox.Close()) })
	agents := must(brain.OpenLibrary(filepath.Join(h.dir, "agents"), slog.New(slog.DiscardHandler)))(t)
	for name, text := range map[string]string{"crab": "You are a crab.", "twin": "You are a twin."} {
		must(agents.Put(ctx, identity.Hub(), name, []byte(text+"\n")))(t)
	}
	h.models = must(brain.OpenCatalogue(brain.CatalogueOptions{Dir: h.dir, Getenv: func(string) string { return "" }}))(t)
	pool := mcpclient.New(mcpclient.Options{})
	t.Cleanup(pool.Close)
	shelf := must(resource.Open(resource.Options{Dir: h.dir, Pool: pool}))(t)
	h.agents = agents
	h.engine = must(talk.New(talk.Deps{
		Memory: memory.New(db), Leases: leases, Bus: local, Agents: agents, Models: h.models, Inbox: h.inbox,
		Workspace: workspace.Always(h.dir), Limits: talk.Limits{Drain: time.Second},
	}))(t)
	check(t, h.engine.Start(ctx))
	h.serve(facetalk.Deps{Talk: h.engine, Agents: agents, Models: h.models, Shelf: shelf, People: h.people, Hub: "test", Limits: limits}, tcp)
	return h
}

func (h *hub) serve(d facetalk.Deps, tcp facetalk.TCPOptions) {
	guard := must(wsconn.NewOriginPolicy(wsconn.OriginConfig{Listen: []string{"127.0.0.1:1"}}))(h.t)
	d.Front = front.New(front.Deps{People: h.people, Guard: guard, Logger: slog.New(slog.DiscardHandler)})
	h.face = facetalk.New(d)
	tcp.PortFile = filepath.Join(h.dir, "parley.talk.port")
	check(h.t, h.face.ListenUnix(h.t.Context(), h.socket()))
	check(h.t, h.face.ListenTCP(h.t.Context(), "127.0.0.1:0", tcp))
	routes := front.NewRoutes(d.Front)
	routes.Handle(h.face.Route(), h.face)
	h.server = httptest.NewServer(d.Front.Wrap(routes))
	h.t.Cleanup(h.stop)
}

func (h *hub) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	check(h.t, h.engine.Close(ctx))
	check(h.t, h.face.Close(ctx))
	h.server.Close()
}

func (h *hub) socket() string { return filepath.Join(h.dir, "parley.sock") }

func (h *hub) tcp() string {
	port := must(os.ReadFile(filepath.Join(h.dir, "parley.talk.port")))(h.t)
	return "127.0.0.1:" + strings.TrimSpace(string(port))
}

// newToken makes a token of a person with scopes.
func (h *hub) newToken(person string, scopes ...string) identity.Issued {
	h.t.Helper()
	return must(h.people.CreateToken(context.Background(), identity.Local(h.owner), identity.TokenRequest{Name: "t", Principal: person, Scopes: scopes}))(h.t)
}

// shortDir is a folder whose sockets fit every system.
func shortDir(t testing.TB) string {
	dir := must(os.MkdirTemp("", "ptalk"))(t)
	t.Cleanup(func() { check(t, os.RemoveAll(dir)) })
	return dir
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// client is a connection seen from the other end, message by message.
type client interface {
	write(payload []byte) error
	read() ([]byte, error)
	close()
}

type streamClient struct{ net.Conn }

func (c streamClient) write(payload []byte) error {
	_, err := c.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(payload))), payload...))
	return err
}

func (c streamClient) read() ([]byte, error) {
	_ = c.SetReadDeadline(time.Now().Add(patience))
	var prefix [4]byte
	if _, err := io.ReadFull(c, prefix[:]); err != nil {
		return nil, err
	}
	payload := make([]byte, binary.BigEndian.Uint32(prefix[:]))
	_, err := io.ReadFull(c, payload)
	return payload, err
}

func (c streamClient) close() { _ = c.Conn.Close() }

type socketClient struct{ *websocket.Conn }

func (c socketClient) write(payload []byte) error {
	return c.Write(context.Background(), websocket.MessageBinary, payload)
}

func (c socketClient) read() ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, payload, err := c.Read(ctx)
	return payload, err
}

func (c socketClient) close() { _ = c.CloseNow() }

func dial(t testing.TB, network, address string) streamClient {
	t.Helper()
	c := streamClient{must(net.Dial(network, address))(t)}
	t.Cleanup(c.close)
	return c
}

func (h *hub) dialUnix() streamClient { h.t.Helper(); return dial(h.t, "unix", h.socket()) }

func (h *hub) dialTCP() streamClient { h.t.Helper(); return dial(h.t, "tcp", h.tcp()) }

func (h *hub) dialWS(header http.Header) (socketClient, *http.Response, error) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, res, err := websocket.Dial(ctx, h.server.URL+"/talk/ws", &websocket.DialOptions{HTTPHeader: header})
	if err != nil {
		return socketClient{}, res, err
	}
	c.SetReadLimit(wire.MaxPayload)
	h.t.Cleanup(func() { _ = c.CloseNow() })
	return socketClient{c}, res, nil
}

func bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

func (h *hub) mustWS(header http.Header) socketClient {
	h.t.Helper()
	c, _, err := h.dialWS(header)
	if err != nil {
		h.t.Fatal(err)
	}
	return c
}

func send(t testing.TB, c client, m *wire.ClientMessage) {
	t.Helper()
	check(t, c.write(must(proto.Marshal(m))(t)))
}

func receive(t testing.TB, c client) *wire.ServerMessage {
	t.Helper()
	payload, err := c.read()
	if err != nil {
		t.Fatal(err)
	}
	return must(wire.UnmarshalServer(payload))(t)
}

func ask(t testing.TB, c client, m *wire.ClientMessage) *wire.ServerMessage {
	t.Helper()
	send(t, c, m)
	return receive(t, c)
}

func hello(t testing.TB, c client, token string) *wire.ServerMessage {
	t.Helper()
	return ask(t, c, &wire.ClientMessage{Message: &wire.ClientMessage_Hello{Hello: &wire.Hello{Version: 1, Token: token}}})
}

func stream(agent, content string, change ...func(*wire.Turn)) *wire.ClientMessage {
	turn := &wire.Turn{Agent: agent, Content: content}
	for _, fn := range change {
		fn(turn)
	}
	return &wire.ClientMessage{Message: &wire.ClientMessage_Stream{Stream: turn}}
}

func sendTurn(agent, content string) *wire.ClientMessage {
	return &wire.ClientMessage{Message: &wire.ClientMessage_Send{Send: &wire.Turn{Agent: agent, Content: content}}}
}

func ping() *wire.ClientMessage {
	return &wire.ClientMessage{Message: &wire.ClientMessage_Ping{Ping: &wire.Ping{}}}
}

// collect reads a run's events to its end and gives them with the text.
func collect(t testing.TB, c client) (text string, all []*wire.ServerMessage) {
	t.Helper()
	for {
		m := receive(t, c)
		all = append(all, m)
		if m.GetError() != nil {
			t.Fatalf("an error in place of the stream: %v", m.GetError())
		}
		text += m.GetStream().GetChunk().GetContent()
		if m.GetStream().GetEnd() != nil {
			return text, all
		}
	}
}

func wantCode(t testing.TB, m *wire.ServerMessage, code wire.Code, words ...string) {
	t.Helper()
	if wire.Code(m.GetError().GetCode()) != code {
		t.Fatalf("got %v, want %d", m, code)
	}
	for _, w := range words {
		if !strings.Contains(m.GetError().GetMessage(), w) {
			t.Errorf("%q does not mention %q", m.GetError().GetMessage(), w)
		}
	}
}

// wantGone reads until the connection is over and tells why.
func wantGone(t testing.TB, c client) error {
	t.Helper()
	for {
		if _, err := c.read(); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
				t.Fatal("the connection is still there")
			}
			return err
		}
	}
}

func wantClose(t testing.TB, c client, code websocket.StatusCode) {
	t.Helper()
	if err := wantGone(t, c); websocket.CloseStatus(err) != code {
		t.Fatalf("closed by %v, want %d", err, code)
	}
}

// eventually waits for something that will become true.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
		<-time.After(5 * time.Millisecond)
	}
}

package roommcp_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"parley.internal/client/roomagent"
	"parley.internal/client/roommcp"
	"parley.internal/internal/hub"
	"parley.internal/internal/hub/config"
	"parley.internal/protocol/kibitz"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func newKey(t *testing.T) *kibitz.PrivateKey {
	t.Helper()
	return must(kibitz.NewPrivateKey(must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)))(t)
}

// house is a hub with rooms whose agents enter by key.
type house struct {
	server *httptest.Server
	token  string
}

func newHouse(t *testing.T) *house {
	t.Helper()
	dir := t.TempDir() + "/data"
	h := must(hub.Open(t.Context(), must(config.Load(config.Sources{Data: dir}))(t), hub.Options{Version: "test"}))(t)
	p := &house{httptest.NewServer(h.Handler()), must(hub.Folder(dir).OwnerToken())(t)}
	t.Cleanup(func() { p.server.CloseClientConnections(); p.server.Close(); h.Close() })
	return p
}

const watching = `{"perceive":["read-chat","read-roster","receive-directed"],"act":[]}`

// open opens a room for some keys; the first may only watch.
func (h *house) open(t *testing.T, name string, meshData bool, keys ...*kibitz.PrivateKey) {
	t.Helper()
	var list []string
	for i, k := range keys {
		caps := watching
		if i > 0 {
			caps = strings.Replace(watching, `"act":[]`, `"act":["send-chat"]`, 1)
		}
		list = append(list, `{"key":`+string(must(json.Marshal(k.Public()))(t))+`,"caps":`+caps+`}`)
	}
	body := `{"room":"` + name + `","policy":{"mesh":{"data":` + string(must(json.Marshal(meshData))(t)) + `},"agents":{"mode":"gated","keys":[` + strings.Join(list, ",") + `]}}}`
	req := must(http.NewRequestWithContext(t.Context(), "POST", h.server.URL+"/api/rooms", strings.NewReader(body)))(t)
	req.Header.Set("Authorization", "Bearer "+h.token)
	req.Header.Set("Content-Type", "application/json")
	resp := must(h.server.Client().Do(req))(t)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		t.Fatalf("resp.Status is %v; want resp.StatusCode to be %v", resp.Status, http.StatusCreated)
	}
}

// model is a client of the tool server.
type model struct {
	t       *testing.T
	session *sdk.ClientSession
	ended   chan error
}

func (h *house) model(t *testing.T, key *kibitz.PrivateKey) *model {
	t.Helper()
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	m := &model{t: t, ended: make(chan error, 1)}
	server := &roommcp.Server{Hub: h.server.URL, Key: key, Version: "test", HTTPClient: h.server.Client()}
	go func() {
		err := server.Run(context.Background(), toServer, fromServer)
		_ = fromServer.Close()
		m.ended <- err
	}()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	m.session = must(client.Connect(t.Context(), &sdk.IOTransport{Reader: toClient, Writer: fromClient}, nil))(t)
	return m
}

// end ends the input and waits for the server.
func (m *model) end() {
	_ = m.session.Close()
	<-m.ended
}

func (m *model) call(tool string, args map[string]any) (map[string]any, string) {
	m.t.Helper()
	res := must(m.session.CallTool(m.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args}))(m.t)
	text := res.Content[0].(*sdk.TextContent).Text
	if res.IsError {
		return nil, text
	}
	var out map[string]any
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		m.t.Fatal(err)
	}
	return out, ""
}

func (m *model) ok(tool string, args map[string]any) map[string]any {
	m.t.Helper()
	out, no := m.call(tool, args)
	if no != "" {
		m.t.Fatalf("%s: %s", tool, no)
	}
	return out
}

func (m *model) fails(tool string, args map[string]any, want string) {
	m.t.Helper()
	if _, no := m.call(tool, args); !strings.HasPrefix(no, want) || want == "" {
		m.t.Errorf("%s: %q in place of %q", tool, no, want)
	}
}

// lines observes until there are any.
func (m *model) lines() (said []string) {
	for len(said) == 0 {
		chat, _ := m.ok("observe", map[string]any{"waitMs": 30000})["chat"].([]any)
		for _, c := range chat {
			l, _ := c.(map[string]any)
			said = append(said, l["name"].(string)+": "+l["text"].(string))
		}
	}
	return said
}

func TestAModelSitsInARoomByItsOwnKey(t *testing.T) {
	h := newHouse(t)
	for _, transport := range []string{"ws", "webrtc"} {
		t.Run(transport, func(t *testing.T) {
			key, other := newKey(t), newKey(t)
			name := "table-" + transport
			h.open(t, name, transport == "webrtc", key, other)
			link := h.server.URL + "/r/" + name
			host := must(roomagent.Dial(t.Context(), link, roomagent.DialOptions{Name: "Host", Token: h.token, Person: true, HTTPClient: h.server.Client()}))(t)
			defer func() { _ = host.Leave() }()
			second := must(roomagent.DialMesh(t.Context(), link, roomagent.DialOptions{Name: "Second", Key: other, HTTPClient: h.server.Client()}))(t)
			heard, linked := make(chan roomagent.Chat, 9), make(chan string, 9)
			second.OnLink(func(id string) { linked <- id })
			agent := roomagent.New(second)
			agent.OnChat(func(c roomagent.Chat) { heard <- c })
			defer func() { _ = agent.Leave() }()

			m := h.model(t, key)
			m.fails("observe", nil, "not joined")
			m.fails("say", map[string]any{"text": "x"}, "not joined")
			in := m.ok("join", map[string]any{"room": name, "name": "Watcher", "readOnly": false, "backend": "Claude", "transport": transport})
			if in["room"] != name || in["canAct"] != false || in["readOnly"] != false || in["sealed"] != false || in["session"] == "" {
				t.Errorf("%v", in)
			}
			if transport == "webrtc" {
				if got := <-linked; got != in["self"] {
					t.Errorf("linked with %s", got)
				}
			}
			m.fails("join", map[string]any{"room": link}, "already joined "+name)
			m.fails("observe", map[string]any{"session": "foreign"}, "not joined")
			if err := agent.Say(t.Context(), "hello model"); err != nil {
				t.Fatal(err)
			}
			if got := m.lines(); !slices.Equal(got, []string{"Second: hello model"}) {
				t.Errorf("%q; want slices.Equal(got, []string{\"Second: hello model\"})", got)
			}
			m.fails("say", map[string]any{"text": "me too"}, "blocked: grant lacks send-chat")
			grant := kibitz.AgentGrant()
			grant.Act = []kibitz.Capability{kibitz.SendChat}
			if err := host.Grants(t.Context(), in["self"].(string), &grant); err != nil {
				t.Fatal(err)
			}
			for m.ok("observe", map[string]any{"waitMs": 1000})["canAct"] != true {
			}
			for !second.GrantOf(in["self"].(string)).Has(kibitz.SendChat) { // a link is quicker than the hub
				<-time.After(time.Millisecond)
			}
			if said := m.ok("say", map[string]any{"text": "me too"}); said["sent"] != true {
				t.Errorf("%v; want said[\"sent\"] to be true", said)
			}
			if got := <-heard; got.Text != "me too" || got.From != in["self"] {
				t.Errorf("%+v", got)
			}
			m.fails("say", map[string]any{"text": "psst", "to": "nobody"}, "to.unknown")
			m.fails("act", map[string]any{"action": map[string]any{"play": "7S"}}, "blocked: grant lacks act")
			if err := agent.Say(t.Context(), "once"); err != nil {
				t.Fatal(err)
			}
			if got := m.lines(); !slices.Equal(got, []string{"Second: once"}) {
				t.Errorf("own lines are no news, and none comes twice: %q", got)
			}
			if out := m.ok("leave", nil); out["left"] != true {
				t.Errorf("%v; want out[\"left\"] to be true", out)
			}
			m.ok("leave", nil)
			m.fails("observe", nil, "not joined")
			// The end of the input leaves the room, too.
			m.ok("join", map[string]any{"room": link, "transport": transport})
			m.fails("say", map[string]any{"text": "x"}, "read-only")
			rosters := make(chan int, 99)
			host.OnContent(func(roomagent.Content) {}) // it listens
			host.OnParticipants(func(list []roomagent.Participant) { rosters <- len(list) })
			m.end()
			for n := len(host.Members()); n != 2; n = <-rosters {
			}
		})
	}
}

func TestRefusalsAreResults(t *testing.T) {
	h := newHouse(t)
	h.open(t, "gated", false, newKey(t))
	m := h.model(t, newKey(t))
	defer m.end()
	m.fails("join", map[string]any{"room": "gated"}, "refused: gate.unlisted")
	m.fails("join", map[string]any{"room": "nowhere"}, "refused: room.unknown")
	m.fails("join", map[string]any{"room": "!!!"}, "refused: room.bad-id")
	m.fails("join", map[string]any{}, "bad_args: ")
	m.fails("say", map[string]any{"text": strings.Repeat("x", 2001)}, "bad_args: ")
}

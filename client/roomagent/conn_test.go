package roomagent_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"parley.internal/client/roomagent"
	"parley.internal/internal/hub"
	"parley.internal/internal/hub/config"
	"parley.internal/protocol/kibitz"
)

// place is a hub with one room and its operator.
type place struct {
	server *httptest.Server
	token  string
	room   string
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

func openPlace(t *testing.T, policy string) *place {
	t.Helper()
	dir := t.TempDir() + "/data"
	h := must(hub.Open(t.Context(), must(config.Load(config.Sources{Data: dir}))(t), hub.Options{Version: "test"}))(t)
	p := &place{server: httptest.NewServer(h.Handler()), token: must(hub.Folder(dir).OwnerToken())(t), room: "table"}
	t.Cleanup(func() { p.server.CloseClientConnections(); p.server.Close(); h.Close() })
	p.call(t, "POST", "/api/rooms", `{"room":"table","policy":`+policy+`}`)
	return p
}

func (p *place) call(t *testing.T, method, path, body string) []byte {
	t.Helper()
	req := must(http.NewRequestWithContext(t.Context(), method, p.server.URL+path, strings.NewReader(body)))(t)
	req.Header.Set("Authorization", "Bearer "+p.token)
	req.Header.Set("Content-Type", "application/json")
	resp := must(p.server.Client().Do(req))(t)
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		t.Fatalf("%s %s: %d; want resp.StatusCode to be less than 300", method, path, resp.StatusCode)
	}
	return must(io.ReadAll(resp.Body))(t)
}

// audited tells whether the trail has such an entry.
func (p *place) audited(t *testing.T, kind, actor, id, detail string) bool {
	t.Helper()
	req := must(http.NewRequestWithContext(t.Context(), "GET", p.server.URL+"/api/rooms/table/audit?kind="+kind, nil))(t)
	req.Header.Set("Authorization", "Bearer "+p.token)
	resp := must(p.server.Client().Do(req))(t)
	defer resp.Body.Close()
	var page struct {
		Entries []struct{ Actor, ID, Detail string }
	}
	if err := json.NewDecoder(resp.Body).Decode(&page); err != nil {
		t.Fatal(err)
	}
	for _, e := range page.Entries {
		if e.Actor == actor && e.ID == id && e.Detail == detail {
			return true
		}
	}
	return false
}

// roster is the room's as its operator sees it.
func (p *place) roster(t *testing.T) (state struct {
	Seq     uint64
	Members []kibitz.Member
},
) {
	t.Helper()
	req := must(http.NewRequestWithContext(t.Context(), "GET", p.server.URL+"/api/rooms/table/roster", nil))(t)
	req.Header.Set("Authorization", "Bearer "+p.token)
	resp := must(p.server.Client().Do(req))(t)
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&state); err != nil {
		t.Fatal(err)
	}
	return state
}

func newKey(t *testing.T) *kibitz.PrivateKey {
	t.Helper()
	return must(kibitz.NewPrivateKey(must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)))(t)
}

// allowing is a policy that lets the keys in, with what they may do.
func allowing(t *testing.T, more string, caps string, keys ...*kibitz.PrivateKey) string {
	t.Helper()
	var list []string
	for _, k := range keys {
		list = append(list, `{"key":`+string(must(json.Marshal(k.Public()))(t))+`,"caps":`+caps+`}`)
	}
	return `{` + more + `"humans":{"mode":"open"},"agents":{"mode":"gated","keys":[` + strings.Join(list, ",") + `]}}`
}

const (
	talker  = `{"perceive":["read-chat","read-roster","receive-directed"],"act":["send-chat","act"]}`
	watcher = `{"perceive":["read-chat","read-roster","receive-directed"],"act":[]}`
)

func (p *place) dial(t *testing.T, o roomagent.DialOptions) *roomagent.Conn {
	t.Helper()
	o.HTTPClient = p.server.Client()
	o.Backoff = func(int) time.Duration { return time.Millisecond }
	c := must(roomagent.Dial(t.Context(), p.server.URL+"/r/Table", o))(t)
	t.Cleanup(func() { _ = c.Leave() })
	return c
}

func next[T any](t *testing.T, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-t.Context().Done():
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

func TestTwoAgentsTalkActAndSeeViews(t *testing.T) {
	a, b := newKey(t), newKey(t)
	p := openPlace(t, allowing(t, `"views":{"publishers":["host","humans"]},`, talker, a, b))
	ann, bob := roomagent.New(p.dial(t, roomagent.DialOptions{Name: "Ann", Key: a})), roomagent.New(p.dial(t, roomagent.DialOptions{Name: "Bob", Key: b}), roomagent.Backend("Claude"))
	chats, data := make(chan roomagent.Chat, 9), make(chan json.RawMessage, 9)
	bob.OnChat(func(m roomagent.Chat) { chats <- m })
	bob.OnData(func(d json.RawMessage, _ string) { data <- d })
	if err := ann.Say(t.Context(), "hello"); err != nil {
		t.Fatal(err)
	}
	if got := next(t, chats); got.Name != "Ann" || got.Text != "hello" {
		t.Errorf("%+v; want got.Name to be \"Ann\", got.Text to be \"hello\"", got)
	}
	if err := ann.Send(t.Context(), json.RawMessage(`{"n":12345678901234567890}`), ""); err != nil {
		t.Fatal(err)
	}
	if got := next(t, data); string(got) != `{"n":12345678901234567890}` {
		t.Errorf("%s; want string(got) to be \"{\"n\":12345678901234567890}\"", got)
	}
	host := p.dial(t, roomagent.DialOptions{Name: "Host", Token: p.token, Person: true})
	views := make(chan json.RawMessage, 9)
	bob.OnView(func(v json.RawMessage, _ string) { views <- v })
	if err := host.RegisterSchema(t.Context(), "cards", "1", json.RawMessage(`{"type":"object"}`)); err != nil {
		t.Fatal(err)
	}
	if err := host.Publish(t.Context(), json.RawMessage(`{"turn":1}`), ""); err != nil {
		t.Fatal(err)
	}
	if got := next(t, views); string(got) != `{"turn":1}` || len(bob.Schemas()) != 1 {
		t.Errorf("%s %v; want string(got) to be \"{\"turn\":1}\", len(bob.Schemas()) to be 1", got, bob.Schemas())
	}
}

func TestAWatcherIsRefusedByTheRoomUntilAHostLetsIt(t *testing.T) {
	key := newKey(t)
	p := openPlace(t, allowing(t, "", watcher, key))
	conn := p.dial(t, roomagent.DialOptions{Name: "Notes", Key: key})
	agent := roomagent.New(conn)
	grants := make(chan kibitz.Grant, 9)
	agent.OnGrant(func(g kibitz.Grant) { grants <- g })
	var denied *roomagent.DeniedError
	if err := agent.Say(t.Context(), "may I"); !errors.As(err, &denied) || denied.Code != "act.denied" || agent.CanAct() {
		t.Fatalf("%v, can act %v", err, agent.CanAct())
	}
	host := p.dial(t, roomagent.DialOptions{Name: "Host", Token: p.token, Person: true})
	wide := kibitz.AgentGrant()
	wide.Act = []kibitz.Capability{kibitz.SendChat}
	if err := host.Grants(t.Context(), conn.Self().ID, &wide); err != nil {
		t.Fatal(err)
	}
	for !next(t, grants).Has(kibitz.SendChat) {
	}
	if err := agent.Say(t.Context(), "thank you"); err != nil {
		t.Error(err)
	}
}

func TestABrokenConnectionResumesWithoutGapOrDuplicate(t *testing.T) {
	a, b := newKey(t), newKey(t)
	p := openPlace(t, allowing(t, "", talker, a, b))
	speaker, listener := p.dial(t, roomagent.DialOptions{Name: "A", Key: a}), p.dial(t, roomagent.DialOptions{Name: "B", Key: b})
	heard := make(chan json.RawMessage, 99)
	listener.OnMessage(func(d json.RawMessage, _ string) { heard <- d })
	id := listener.Self().ID
	for i := range 15 {
		if i%5 == 3 {
			p.server.CloseClientConnections()
		}
		if err := speaker.Broadcast(t.Context(), must(json.Marshal(i))(t)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 15 {
		if got := next(t, heard); string(got) != string(must(json.Marshal(i))(t)) {
			t.Fatalf("%s in place of %d", got, i)
		}
	}
	if listener.Self().ID != id {
		t.Error("it came back as somebody else")
	}
}

func TestASealedRoomIsReadWithTheLinkOnly(t *testing.T) {
	a, b, c := newKey(t), newKey(t), newKey(t)
	p := openPlace(t, allowing(t, `"sealed":true,`, talker, a, b, c))
	var secret [32]byte
	_, _ = rand.Read(secret[:])
	link := base64.RawURLEncoding.EncodeToString(secret[:])
	one := p.dial(t, roomagent.DialOptions{Name: "A", Key: a, RoomKey: link})
	two := p.dial(t, roomagent.DialOptions{Name: "B", Key: b, RoomKey: link})
	blind := p.dial(t, roomagent.DialOptions{Name: "C", Key: c})
	heard, wrong := make(chan roomagent.Content, 9), make(chan roomagent.Content, 9)
	two.OnContent(func(m roomagent.Content) { heard <- m })
	blind.OnContent(func(m roomagent.Content) { wrong <- m })
	if _, err := one.Chat(t.Context(), "only us", ""); err != nil {
		t.Fatal(err)
	}
	if got := next(t, heard); !strings.Contains(string(got.C), "only us") {
		t.Errorf("%s; want \"only us\" in it", got.C)
	}
	var denied *roomagent.DeniedError
	if _, err := blind.Chat(t.Context(), "x", ""); !errors.As(err, &denied) || denied.Code != "seal.required" {
		t.Error(err)
	}
	if len(wrong) != 0 {
		t.Error("somebody without the key read it")
	}
}

func TestAStrangersKeyIsRefused(t *testing.T) {
	p := openPlace(t, allowing(t, "", talker, newKey(t)))
	var denied *roomagent.DeniedError
	_, err := roomagent.Dial(t.Context(), p.server.URL+"/r/table", roomagent.DialOptions{Name: "X", Key: newKey(t), HTTPClient: p.server.Client()})
	if !errors.As(err, &denied) || denied.Code != "gate.unlisted" {
		t.Error(err)
	}
	_, err = roomagent.Dial(t.Context(), p.server.URL+"/r/nowhere", roomagent.DialOptions{HTTPClient: p.server.Client()})
	if !errors.As(err, &denied) {
		t.Error(err)
	}
	if _, err := roomagent.Dial(t.Context(), "not a link", roomagent.DialOptions{}); err == nil {
		t.Error("that was no link")
	}
}

func TestARevokedKeyEndsThePresence(t *testing.T) {
	key := newKey(t)
	p := openPlace(t, allowing(t, "", talker, key))
	conn := p.dial(t, roomagent.DialOptions{Name: "A", Key: key})
	p.call(t, "PUT", "/api/rooms/table/policy", allowing(t, "", talker))
	<-conn.Done()
	var denied *roomagent.DeniedError
	if !errors.As(conn.Err(), &denied) || denied.Code != "key.revoked" {
		t.Errorf("conn.Err() is %v; want errors.As(conn.Err(), &denied), denied.Code to be \"key.revoked\"", conn.Err())
	}
	if err := conn.Broadcast(t.Context(), json.RawMessage("1")); err == nil {
		t.Error("it could still send")
	}
}

func TestWaitingAtTheDoorEndsWithItsContext(t *testing.T) {
	p := openPlace(t, `{"humans":{"mode":"open"},"lobby":{"on":true}}`)
	ctx, cancel := context.WithCancel(t.Context())
	knocked := make(chan error, 1)
	go func() {
		_, err := roomagent.Dial(ctx, p.server.URL+"/r/table", roomagent.DialOptions{Name: "Guest", Person: true, HTTPClient: p.server.Client()})
		knocked <- err
	}()
	host := p.dial(t, roomagent.DialOptions{Name: "Host", Token: p.token, Person: true})
	_ = host
	cancel()
	if err := next(t, knocked); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// The owner's token would make a host of a person. An agent's program that uses it is an
// agent from the first frame on, and no host.
func TestAnAgentIsOneFromTheFirstFrame(t *testing.T) {
	p := openPlace(t, `{"humans":{"mode":"open"},"agents":{"mode":"open"}}`)
	c := p.dial(t, roomagent.DialOptions{Name: "Helper", Token: p.token})
	me := c.Members()[0]
	if me.Kind != kibitz.Agent || me.Host || !me.ReadOnly {
		t.Errorf("a program with the owner's token came in as %+v; want an agent that only reads", me)
	}
	if err := c.SetMeta(t.Context(), map[string]any{"backend": "Claude"}); err != nil {
		t.Fatal(err)
	}
	if g := c.Grant(); len(g.Act) != 0 {
		t.Errorf("it may %v", g.Act)
	}
}

func TestALinkCarriesItsInvite(t *testing.T) {
	p := openPlace(t, `{"humans":{"mode":"invite"}}`)
	var made struct{ URL string }
	if err := json.Unmarshal(p.call(t, "POST", "/api/rooms/table/invites", `{"name":"Zoe"}`), &made); err != nil {
		t.Fatal(err)
	}
	c := must(roomagent.Dial(t.Context(), p.server.URL+made.URL, roomagent.DialOptions{Person: true, HTTPClient: p.server.Client()}))(t)
	defer func() { _ = c.Leave() }()
	if me := c.Members()[0]; me.Name != "Zoe" || me.Label != "Zoe" || !me.Proven {
		t.Errorf("whoever dials an invite's link is %+v", me)
	}
}

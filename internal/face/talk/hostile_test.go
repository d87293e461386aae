package talk_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	facetalk "parley.internal/internal/face/talk"
	"parley.internal/internal/identity"
	wire "parley.internal/protocol/agentfirst"
)

// Whoever does not say who they are gets 401 for everything but hello and ping,
// and then the door.
func TestWithoutATokenNothingIsAnsweredAndTheDoorCloses(t *testing.T) {
	patient := newHub(t, facetalk.Limits{}, facetalk.TCPOptions{})
	hasty := newHub(t, facetalk.Limits{Login: 100 * time.Millisecond}, facetalk.TCPOptions{})
	for name, dial := range map[string]func(*hub) client{
		"tcp": func(h *hub) client { return h.dialTCP() }, "ws": func(h *hub) client { return h.mustWS(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			c := dial(patient)
			if m := ask(t, c, ping()); m.GetPong() == nil {
				t.Fatalf("got %v", m)
			}
			wantCode(t, ask(t, c, sendTurn("crab", "hi")), wire.CodeUnauthenticated)
			wantCode(t, ask(t, c, &wire.ClientMessage{}), wire.CodeUnauthenticated)
			wantCode(t, hello(t, c, ""), wire.CodeUnauthenticated)
			wantCode(t, hello(t, c, "prl_"+strings.Repeat("x", 43)), wire.CodeUnauthenticated)
			err := wantGone(t, dial(hasty))
			if name == "ws" && websocket.CloseStatus(err) != wire.CloseUnauthenticated {
				t.Errorf("closed by %v", err)
			}
		})
	}
}

func TestAWrongBearerIsRefusedAtTheDoor(t *testing.T) {
	h := newHub(t, facetalk.Limits{}, facetalk.TCPOptions{})
	_, res, err := h.dialWS(bearer("prl_" + strings.Repeat("x", 43)))
	if err == nil || res.StatusCode != http.StatusUnauthorized {
		t.Errorf("got %v, %v", res, err)
	}
}

func TestAForeignOriginIsRefused(t *testing.T) {
	h := newHub(t, facetalk.Limits{}, facetalk.TCPOptions{})
	header := bearer(h.token)
	header.Set("Origin", "https://evil.example")
	_, res, err := h.dialWS(header)
	if err == nil || res.StatusCode != http.StatusForbidden {
		t.Errorf("got %v, %v", res, err)
	}
}

// The page's cookie is enough for the WebSocket: its origin was checked.
func TestThePagesCookieOpensTheWebSocket(t *testing.T) {
	h := newHub(t, facetalk.Limits{}, facetalk.TCPOptions{})
	session := must(h.people.Authenticate(t.Context(), h.token))(t)
	login := must(h.people.OpenPage(t.Context(), session, "browser"))(t)
	c := h.mustWS(http.Header{"Cookie": {"parley_session=" + login.Cookie}, "Origin": {"http://127.0.0.1:1"}})
	if m := hello(t, c, ""); m.GetHello().GetSender() != "user" {
		t.Fatalf("got %v", m)
	}
	check(t, h.people.ClosePage(t.Context(), session, login.Page.ID))
	wantClose(t, c, wire.CloseUnauthenticated)
}

// A talk token is its person; another sender is 403, an admin's request too.
func TestScopes(t *testing.T) {
	h := newHub(t, facetalk.Limits{}, facetalk.TCPOptions{})
	as := func(sender string) func(*wire.Turn) { return func(m *wire.Turn) { m.Sender = new(sender) } }
	list := func(c client) []*wire.ConversationInfo {
		m := ask(t, c, &wire.ClientMessage{Message: &wire.ClientMessage_ListConversations{ListConversations: &wire.ListConversations{}}})
		return m.GetConversationList().GetConversations()
	}
	t.Run("the owner is user, absent or empty", func(t *testing.T) {
		c := h.mustWS(bearer(h.newToken("", "talk").Secret))
		send(t, c, stream("crab", "/say hi"))
		collect(t, c)
		send(t, c, stream("crab", "/say hi", as("")))
		collect(t, c)
		if got := list(c); len(got) != 1 || got[0].GetSender() != "user" || got[0].GetMessageCount() != 4 {
			t.Errorf("got %v", got)
		}
		wantCode(t, ask(t, c, stream("crab", "hi", as("alice"))), wire.CodeForbidden)
	})
	t.Run("somebody else is their name", func(t *testing.T) {
		c := h.mustWS(bearer(h.newToken("alice", "talk").Secret))
		if m := hello(t, c, ""); m.GetHello().GetSender() != "alice" {
			t.Fatalf("got %v", m)
		}
		send(t, c, stream("crab", "/say hi"))
		collect(t, c)
		if got := list(c); len(got) != 1 || got[0].GetSender() != "alice" {
			t.Errorf("got %v", got)
		}
		wantCode(t, ask(t, c, stream("crab", "hi", as("user"))), wire.CodeForbidden)
		agent := ask(t, c, &wire.ClientMessage{Message: &wire.ClientMessage_GetAgent{GetAgent: &wire.GetAgent{Name: "crab"}}})
		if agent.GetAgentInfo().GetPrompt() != "" {
			t.Error("the prompt is for those who manage agents")
		}
	})
	t.Run("a gateway has its prefix and no default", func(t *testing.T) {
		c := h.mustWS(bearer(h.newToken("gateway", "talk:sender:tg:*").Secret))
		send(t, c, stream("crab", "/say hi", as("tg:1")))
		collect(t, c)
		wantCode(t, ask(t, c, stream("crab", "hi")), wire.CodeForbidden)
		wantCode(t, ask(t, c, stream("crab", "hi", as("wx:1"))), wire.CodeForbidden)
	})
	t.Run("no talk scope, nothing", func(t *testing.T) {
		c := h.mustWS(bearer(h.newToken("bob", "task:read").Secret))
		wantCode(t, ask(t, c, sendTurn("crab", "hi")), wire.CodeForbidden)
		wantCode(t, ask(t, c, &wire.ClientMessage{Message: &wire.ClientMessage_ListAgents{ListAgents: &wire.ListAgents{}}}), wire.CodeForbidden)
	})
	t.Run("an admin is anybody and sees all", func(t *testing.T) {
		c := h.dialUnix()
		send(t, c, stream("crab", "/say hi", as("alice")))
		collect(t, c)
		if got := list(c); len(got) != 3 {
			t.Errorf("got %v", got)
		}
	})
}

// A revoked token ends its connections within a second, runs included.
func TestARevokedTokenEndsItsConnections(t *testing.T) {
	h := newHub(t, facetalk.Limits{}, facetalk.TCPOptions{})
	token := h.newToken("", "talk")
	ws, tcp := h.mustWS(bearer(token.Secret)), h.dialTCP()
	hello(t, tcp, token.Secret)
	send(t, ws, stream("crab", "/say begun\n/sleep 600000"))
	for receive(t, ws).GetStream().GetChunk() == nil {
	}
	check(t, h.people.Revoke(t.Context(), identity.Local(h.owner), token.ID))
	wantClose(t, ws, wire.CloseUnauthenticated)
	_ = wantGone(t, tcp)
	eventually(t, "the run of the revoked client ends", func() bool { return h.engine.Stats().Runs == 0 })
}

func TestAnAnnouncedFrameThatIsTooLargeClosesAtOnce(t *testing.T) {
	h := newHub(t, facetalk.Limits{}, facetalk.TCPOptions{})
	other := h.dialUnix()
	c := h.dialUnix()
	must(c.Write(binary.BigEndian.AppendUint32(nil, wire.MaxPayload+1)))(t)
	if err := wantGone(t, c); !errors.Is(err, io.EOF) && !isReset(err) {
		t.Errorf("closed by %v", err)
	}
	ws := h.mustWS(bearer(h.token))
	go func() { _ = ws.write(make([]byte, wire.MaxPayload+1)) }()
	wantClose(t, ws, websocket.StatusMessageTooBig)
	if m := ask(t, other, ping()); m.GetPong() == nil {
		t.Errorf("another connection suffered: %v", m)
	}
}

// A stranger may not make the hub hold large frames.
func TestAStrangersFramesAreSmall(t *testing.T) {
	h := newHub(t, facetalk.Limits{}, facetalk.TCPOptions{})
	c := h.dialTCP()
	must(c.Write(binary.BigEndian.AppendUint32(nil, 1<<20)))(t)
	_ = wantGone(t, c)
	ws := h.mustWS(nil)
	go func() { _ = ws.write(make([]byte, 1<<20)) }()
	wantClose(t, ws, websocket.StatusMessageTooBig)
}

func TestGarbageClosesThatConnectionOnly(t *testing.T) {
	h := newHub(t, facetalk.Limits{}, facetalk.TCPOptions{})
	other := h.dialUnix()
	c, ws, text := h.dialUnix(), h.mustWS(bearer(h.token)), h.mustWS(bearer(h.token))
	check(t, c.write([]byte{0xff, 0xff, 0xff}))
	_ = wantGone(t, c)
	check(t, ws.write([]byte{0xff, 0xff, 0xff}))
	wantClose(t, ws, websocket.StatusInvalidFramePayloadData)
	check(t, text.Write(t.Context(), websocket.MessageText, []byte("hello")))
	wantClose(t, text, websocket.StatusUnsupportedData)
	// Somebody's browser on the wrong port.
	web := h.dialTCP()
	must(web.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")))(t)
	_ = wantGone(t, web)
	if m := ask(t, other, ping()); m.GetPong() == nil {
		t.Errorf("another connection suffered: %v", m)
	}
}

func TestHalfAFrameIsWaitedForOnlySoLong(t *testing.T) {
	h := newHub(t, facetalk.Limits{Frame: 100 * time.Millisecond}, facetalk.TCPOptions{})
	c := h.dialUnix()
	must(c.Write([]byte{0, 0, 0, 9, 1}))(t)
	_ = wantGone(t, c)
	// A client that leaves in the middle of one just leaves.
	leaver := h.dialUnix()
	must(leaver.Write([]byte{0, 0}))(t)
	leaver.close()
	if m := ask(t, h.dialUnix(), ping()); m.GetPong() == nil {
		t.Errorf("got %v", m)
	}
}

// A reader that stops reading loses nothing it was sent, slows nobody down, and
// is cut when too much waits for it.
func TestASlowReaderIsCutAndSlowsNobody(t *testing.T) {
	for _, face := range []string{"unix", "ws"} {
		t.Run(face, func(t *testing.T) {
			h := newHub(t, facetalk.Limits{Unsent: 1 << 20, Write: time.Minute}, facetalk.TCPOptions{})
			var lazy client
			if face == "unix" {
				lazy = h.dialUnix()
			} else {
				lazy = h.mustWS(bearer(h.token))
			}
			hello(t, lazy, "")
			big := strings.Repeat(strings.Repeat("x", 2000)+" ", 500)
			for i := range 12 {
				m := stream("crab", "/say "+big, func(m *wire.Turn) { m.Sender = new(string(rune('a' + i))) })
				m.RequestId = uint64(i + 1)
				if lazy.write(mustMarshal(m)) != nil {
					break // cut already
				}
			}
			quick := h.dialUnix()
			send(t, quick, stream("crab", "/say not slowed", func(m *wire.Turn) { m.Sender = new("quick") }))
			if text, _ := collect(t, quick); text != "not slowed" {
				t.Errorf("text %q", text)
			}
			eventually(t, "all runs end though nobody reads", func() bool { return h.engine.Stats().Runs == 0 })
			_ = wantGone(t, lazy)
		})
	}
}

// One that only pauses gets every byte.
func TestAReaderThatPausesLosesNothing(t *testing.T) {
	for _, face := range []string{"unix", "ws"} {
		t.Run(face, func(t *testing.T) {
			h := newHub(t, facetalk.Limits{}, facetalk.TCPOptions{})
			var c client
			if face == "unix" {
				c = h.dialUnix()
			} else {
				c = h.mustWS(bearer(h.token))
			}
			big := strings.Repeat(strings.Repeat("0123456789", 100)+" ", 3500) // more than sockets hold
			send(t, c, stream("crab", "/say "+big))
			eventually(t, "the run ends while nobody reads", func() bool {
				list := must(h.engine.List(context.Background(), adminWho, noFilter))(t)
				return len(list) == 1 && list[0].Messages == 2
			})
			text, _ := collect(t, c)
			if text != strings.TrimSuffix(big, " ") && text != big {
				t.Errorf("%d bytes of %d came", len(text), len(big))
			}
		})
	}
}

// 64 requests may be in progress; then the hub stops reading, and goes on when
// there is room.
func TestAFloodOfRunsIsTakenInTurn(t *testing.T) {
	h := newHub(t, facetalk.Limits{InProgress: 4}, facetalk.TCPOptions{})
	c := h.dialUnix()
	hello(t, c, "")
	const n = 40
	go func() {
		for i := range n {
			m := sendTurn("crab", "/say x")
			m.RequestId = uint64(i + 1)
			m.GetSend().Sender = new(string(rune('A' + i)))
			if c.write(mustMarshal(m)) != nil {
				return
			}
		}
	}()
	seen := map[uint64]bool{}
	for len(seen) < n {
		m := receive(t, c)
		if m.GetResponse().GetContent() != "x" || seen[m.GetRequestId()] {
			t.Fatalf("got %v", m)
		}
		seen[m.GetRequestId()] = true
	}
}

// A client that leaves takes its run with it, unless it was detached.
func TestALeavingClientEndsItsRun(t *testing.T) {
	h := newHub(t, facetalk.Limits{}, facetalk.TCPOptions{})
	c := h.dialUnix()
	send(t, c, stream("crab", "/say begun\n/sleep 600000"))
	for receive(t, c).GetStream().GetChunk() == nil {
	}
	c.close()
	eventually(t, "the run ends", func() bool { return h.engine.Stats().Runs == 0 })
	c = h.dialUnix()
	send(t, c, stream("crab", "/say begun\n/sleep 100\n/say all of it", func(m *wire.Turn) { m.Detached = true; m.Thread = "detached" }))
	for receive(t, c).GetStream().GetChunk() == nil {
	}
	c.close()
	eventually(t, "the detached run finishes", func() bool {
		found := must(h.engine.Find(context.Background(), adminWho, talkKey("crab", "user", "detached")))(t)
		return found.Messages == 2
	})
}

// What a plain client said before it left is not lost, though nobody answers it.
func TestWordsOfAClientThatLeftAreKept(t *testing.T) {
	h := newHub(t, facetalk.Limits{}, facetalk.TCPOptions{})
	c := h.dialUnix()
	send(t, c, stream("crab", "/say begun\n/sleep 600000"))
	send(t, c, stream("crab", "/say second"))
	for receive(t, c).GetStream().GetChunk() == nil {
	}
	send(t, c, ping())
	for receive(t, c).GetPong() == nil { // both turns were read
	}
	c.close()
	eventually(t, "the second turn's words are stored", func() bool {
		found := must(h.engine.Find(context.Background(), adminWho, talkKey("crab", "user", "")))(t)
		h := must(h.engine.History(context.Background(), adminWho, found.ID, noHistory))(t)
		return len(h.Messages) >= 3 && h.Messages[len(h.Messages)-1].Text == "/say second"
	})
}

func TestTCPIsForThisMachineOnly(t *testing.T) {
	h := newHub(t, facetalk.Limits{}, facetalk.TCPOptions{})
	for _, address := range []string{"0.0.0.0:0", "[::]:0", ":0", "192.0.2.1:0", "localhost"} {
		if err := h.face.ListenTCP(t.Context(), address, facetalk.TCPOptions{}); err == nil {
			t.Errorf("%s was accepted", address)
		}
	}
}

func TestASocketThatAnswersIsAnotherHub(t *testing.T) {
	h := newHub(t, facetalk.Limits{}, facetalk.TCPOptions{})
	if err := h.face.ListenUnix(t.Context(), h.socket()); !errors.Is(err, facetalk.ErrAnotherHub) {
		t.Errorf("got %v", err)
	}
	info := must(os.Stat(h.socket()))(t)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	// A dead one is in nobody's way; something else is.
	dead := filepath.Join(h.dir, "dead.sock")
	l := must(net.ListenUnix("unix", &net.UnixAddr{Name: dead, Net: "unix"}))(t)
	l.SetUnlinkOnClose(false)
	check(t, l.Close())
	check(t, h.face.ListenUnix(t.Context(), dead))
	if m := ask(t, dial(t, "unix", dead), ping()); m.GetPong() == nil {
		t.Errorf("got %v", m)
	}
	file := filepath.Join(h.dir, "file")
	check(t, os.WriteFile(file, nil, 0o600))
	if err := h.face.ListenUnix(t.Context(), file); err == nil {
		t.Error("a file was replaced")
	}
	if err := h.face.ListenUnix(t.Context(), filepath.Join(h.dir, strings.Repeat("x", 200))); !errors.Is(err, facetalk.ErrPathTooLong) {
		t.Errorf("got %v", err)
	}
}

func TestOnlySoManyConnections(t *testing.T) {
	h := newHub(t, facetalk.Limits{Connections: 2}, facetalk.TCPOptions{})
	a, b := h.dialUnix(), h.dialUnix()
	ask(t, a, ping())
	ask(t, b, ping())
	_ = wantGone(t, h.dialUnix())
	one, two := h.mustWS(bearer(h.token)), h.mustWS(bearer(h.token))
	if _, res, err := h.dialWS(bearer(h.token)); err == nil || res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("got %v, %v", res, err)
	}
	one.close()
	two.close()
	a.close()
	eventually(t, "there is room again", func() bool {
		c, err := net.Dial("unix", h.socket())
		if err != nil {
			return false
		}
		defer func() { _ = c.Close() }()
		s := streamClient{c}
		if s.write(mustMarshal(ping())) != nil {
			return false
		}
		_, err = s.read()
		return err == nil
	})
	eventually(t, "there is room for a WebSocket again", func() bool {
		c, _, err := h.dialWS(bearer(h.token))
		if err == nil {
			c.close()
		}
		return err == nil
	})
}

// A stopping hub lets runs finish, takes no new ones, and then hangs up.
func TestAStoppingHubLetsRunsFinish(t *testing.T) {
	h := newHub(t, facetalk.Limits{}, facetalk.TCPOptions{})
	c, ws := h.dialUnix(), h.mustWS(bearer(h.token))
	for i, conn := range []client{c, ws} {
		hello(t, conn, "")
		m := stream("crab", "/say begun\n/sleep 2000\n/say finished", func(m *wire.Turn) { m.Sender = new(string(rune('a' + i))) })
		m.RequestId = 1
		send(t, conn, m)
		for receive(t, conn).GetStream().GetChunk() == nil {
		}
	}
	closed := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		closed <- h.face.Close(ctx)
	}()
	early := map[client]string{}
	eventually(t, "new turns are refused", func() bool {
		m := sendTurn("crab", "/say x")
		m.RequestId = 2
		m.GetSend().Sender = new("late")
		send(t, c, m)
		for {
			m := receive(t, c)
			if m.GetRequestId() == 2 {
				return m.GetError().GetCode() == uint32(wire.CodeUnavailable)
			}
			if m.GetStream().GetEnd() != nil {
				t.Fatal("the run ended first")
			}
			early[c] += m.GetStream().GetChunk().GetContent()
		}
	})
	for _, conn := range []client{c, ws} {
		if text, _ := collect(t, conn); !strings.HasSuffix(early[conn]+text, "finished") {
			t.Errorf("text %q", text)
		}
		_ = wantGone(t, conn)
	}
	check(t, <-closed)
	if _, err := os.Stat(filepath.Join(h.dir, "parley.talk.port")); !os.IsNotExist(err) {
		t.Errorf("the port is still announced: %v", err)
	}
}

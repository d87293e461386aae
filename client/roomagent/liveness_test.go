package roomagent

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"parley.internal/protocol/kibitz"
)

// scripted is a hub in the hands of a test: it says what the test says, when the test
// says it, over pipes, so that its time can be the test's.
type scripted struct {
	t       *testing.T
	dialled chan net.Conn
	sockets chan *websocket.Conn
	mute    bool        // takes connections and never answers
	hung    atomic.Bool // what is written on standing connections reaches nobody
	client  *http.Client
}

func newScripted(t *testing.T) *scripted {
	s := &scripted{t: t, dialled: make(chan net.Conn), sockets: make(chan *websocket.Conn, 4)}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		socket, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		s.sockets <- socket
	})}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { _ = server.Serve(pipes{s, ctx}) }()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		here, there := net.Pipe()
		if !s.mute {
			s.dialled <- there
		}
		return &lossy{here, &s.hung}, nil
	}}
	s.client = &http.Client{Transport: transport}
	t.Cleanup(func() { cancel(); transport.CloseIdleConnections(); _ = server.Close() })
	return s
}

// lossy is a connection of which the other side has stopped: the system takes what is
// written to it, and that is all.
type lossy struct {
	net.Conn
	hung *atomic.Bool
}

func (l *lossy) Write(data []byte) (int, error) {
	if l.hung.Load() {
		return len(data), nil
	}
	return l.Conn.Write(data)
}

// pipes are a scripted hub's listener.
type pipes struct {
	s   *scripted
	ctx context.Context
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.s.dialled:
		return c, nil
	case <-p.ctx.Done():
		return nil, net.ErrClosed
	}
}
func (pipes) Close() error   { return nil }
func (pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (s *scripted) say(socket *websocket.Conn, frames ...string) {
	for _, f := range frames {
		if err := socket.Write(s.t.Context(), websocket.MessageText, []byte(f)); err != nil {
			s.t.Error(err)
		}
	}
}

// hear reads the next frame of a client.
func (s *scripted) hear(socket *websocket.Conn) (frame map[string]any) {
	_, data, err := socket.Read(s.t.Context())
	if err != nil || json.Unmarshal(data, &frame) != nil {
		s.t.Errorf("the client says nothing more: %v", err)
	}
	return frame
}

// admit lets the next connection in and returns what it came with.
func (s *scripted) admit() (*websocket.Conn, map[string]any) {
	socket := <-s.sockets
	s.say(socket, `{"t":"hello","v":1,"room":"table","cid":"c","nonce":"n","humans":"open","agents":"open"}`)
	came := s.hear(socket)
	s.say(socket, `{"t":"lobby","status":"admitted"}`, `{"t":"self","id":"p1","kind":"agent","name":"Bot","resume":"secret","seq":0,"grant":{"perceive":[],"act":["send-chat","speak"]}}`,
		`{"t":"roster","members":[{"id":"p1","name":"Bot","kind":"agent"}]}`, `{"t":"caps","rev":1,"grants":{}}`, `{"t":"live","seq":0}`)
	return socket, came
}

// join dials a scripted hub and lets the agent in.
func (s *scripted) join(o DialOptions) (*Conn, *websocket.Conn, map[string]any) {
	o.HTTPClient = s.client
	made := make(chan *Conn)
	go func() {
		c, err := Dial(s.t.Context(), "http://hub/r/table", o)
		if err != nil {
			s.t.Error(err)
		}
		made <- c
	}()
	socket, came := s.admit()
	c := <-made
	s.t.Cleanup(func() { _ = c.Leave() })
	return c, socket, came
}

func TestAHungHubIsLeftAfterTwentyFiveSecondsAndWhatWaitedIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(t)
		c, hung, _ := s.join(DialOptions{Name: "Bot"})
		defer func() { _ = hung.CloseNow() }()
		begun := time.Now()
		sent := make(chan error, 1)
		go func() { sent <- c.Broadcast(t.Context(), json.RawMessage(`1`)) }()
		s.hear(hung)
		s.hung.Store(true)
		<-time.After(lostAfter - time.Millisecond)
		synctest.Wait()
		select {
		case <-s.sockets:
			t.Error("the hub was given up too early")
		default:
		}
		s.hung.Store(false)
		next, came := s.admit()
		if waited := time.Since(begun); waited < lostAfter || waited > lostAfter+5*time.Second {
			t.Errorf("the hub was given up after %v, expected 25 s and the pause before the next attempt", waited)
		}
		if came["t"] != "resume" || came["resume"] != "secret" {
			t.Errorf("the agent came back with %v, expected to take up its presence", came)
		}
		again := s.hear(next)
		s.say(next, fmt.Sprintf(`{"t":"ack","n":%v,"seq":7}`, again["n"]))
		if err := <-sent; err != nil {
			t.Errorf("what was sent to a hung hub failed, expected it to be sent again: %v", err)
		}
		go func() { _, _, _ = next.Read(context.Background()) }() // a hub that is there reads, and so answers pings
		<-time.After(10 * time.Minute)
		select {
		case <-s.sockets:
			t.Error("a silent hub that answers was given up")
		default:
		}
	})
}

func TestADialThatNobodyAnswersEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(t)
		s.mute = true
		begun := time.Now()
		_, err := Dial(t.Context(), "http://hub/r/table", DialOptions{HTTPClient: s.client})
		if err == nil || time.Since(begun) != lostAfter {
			t.Errorf("the dial ended after %v with %v, expected an error after %v", time.Since(begun), err, lostAfter)
		}
	})
}

func TestPublishedLanesAreToldAgainAfterABreak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(t)
		c, socket, _ := s.join(DialOptions{Name: "Bot"})
		told := make(chan error, 1)
		go func() { told <- c.Media(t.Context(), kibitz.Lanes{Audio: true}) }()
		s.say(socket, fmt.Sprintf(`{"t":"ack","n":%v}`, s.hear(socket)["n"]))
		if err := <-told; err != nil {
			t.Fatal(err)
		}
		_ = socket.CloseNow()
		next, _ := s.admit()
		if f := s.hear(next); f["t"] != "media" || f["audio"] != true {
			t.Errorf("after the break the room was told %v, expected the lanes", f)
		}
	})
}

// creditUntil is a credit that says when it ends; only a shop could sign it.
func creditUntil(t time.Time) string {
	return "h." + base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"exp":%d}`, t.Unix())) + ".s"
}

func TestACreditIsRenewedBeforeItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(t)
		bought := 0
		_, socket, came := s.join(DialOptions{Name: "Bot", RenewCredit: func(context.Context) (string, error) {
			if bought++; bought == 2 {
				return "", errors.New("the shop is closed for a moment")
			}
			return creditUntil(time.Now().Add(time.Minute)), nil
		}})
		if came["agentCredit"] != creditUntil(time.Now().Add(time.Minute)) {
			t.Errorf("the agent came with %v, expected a credit it got itself", came)
		}
		begun := time.Now()
		f := s.hear(socket)
		if waited := time.Since(begun); f["t"] != "voice" || f["agentCredit"] == came["agentCredit"] || waited >= time.Minute {
			t.Errorf("after %v came %v, expected a new credit before the old one ended although the shop was closed once", waited, f)
		}
	})
}

func TestWhoCannotPayAtFirstIsToldWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(t)
		failed := make(chan error)
		go func() {
			_, err := Dial(t.Context(), "http://hub/r/table", DialOptions{HTTPClient: s.client, RenewCredit: func(context.Context) (string, error) { return "", errors.New("no money") }})
			failed <- err
		}()
		socket := <-s.sockets
		s.say(socket, `{"t":"hello","v":1,"room":"table","cid":"c","nonce":"n","humans":"open","agents":"open"}`)
		if err := <-failed; err == nil || err.Error() != "credit.unavailable: no money" {
			t.Errorf("got %v", err)
		}
		_ = socket.CloseNow()
	})
}

// said keeps what went over a link.
type said struct{ texts []string }

func (s *said) SendText(text string) error { s.texts = append(s.texts, text); return nil }

func TestNothingGoesOverALinkTwelveSecondsAfterTheLastSignOfTheHub(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &Mesh{Conn: &Conn{sign: time.Now(), caps: map[string]kibitz.Grant{"p2": {Perceive: []kibitz.Capability{kibitz.ReadChat}}}}}
		link := &said{}
		p := &peer{mesh: m, id: "p2", checked: true, channel: link}
		<-time.After(quietAfter - time.Millisecond)
		_ = p.send(held{[]byte("in time"), kibitz.ReadChat})
		<-time.After(time.Millisecond)
		_ = p.send(held{[]byte("too late"), kibitz.ReadChat})
		m.heard()
		_ = p.send(held{[]byte("again"), kibitz.ReadChat})
		if len(link.texts) != 2 || link.texts[0] != "in time" || link.texts[1] != "again" {
			t.Errorf("over the link went %q, expected nothing while the hub was away", link.texts)
		}
	})
}

package wsconn_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"parley.internal/internal/wsconn"
)

func TestAClientSeesCodeAndReason(t *testing.T) {
	for _, c := range []struct {
		code   wsconn.Code
		reason string
		want   string
		bad    bool
	}{
		{1000, "", "1000 ", false},
		{1001, "hub leaves", "1001 hub leaves", false},
		{1012, "restart", "1012 restart", false},
		{4409, "replaced by a newer connection", "4409 replaced by a newer connection", false},
		{4999, strings.Repeat("é", 100), "4999 " + strings.Repeat("é", 61), false},
		{1005, "", "1011 ", true},
		{1006, "", "1011 ", true},
		{1015, "", "1011 ", true},
		{999, "", "1011 ", true},
		{2999, "", "1011 ", true},
		{5000, "", "1011 ", true},
	} {
		t.Run(fmt.Sprint(c.code), func(t *testing.T) {
			s := serve(t, wsconn.Options{}, script{})
			client := s.dial()
			conn := s.conn()
			if err := conn.SendText([]byte("queued before")); err != nil {
				t.Fatal(err)
			}
			if err := conn.Close(c.code, c.reason); errors.Is(err, wsconn.ErrBadClose) != c.bad {
				t.Errorf("close returned %v", err)
			}
			if err := conn.SendText([]byte("after")); !errors.Is(err, wsconn.ErrClosed) {
				t.Errorf("send after close returned %v", err)
			}
			if got := hear(t, client); got != "queued before" {
				t.Errorf("heard %q", got)
			}
			if got := hearClose(t, client); got != c.want {
				t.Errorf("closed %q, want %q", got, c.want)
			}
			if how := receive(t, s.ended, "end"); how.ByPeer || fmt.Sprint(how.Code) != strings.Fields(c.want)[0] {
				t.Errorf("handler was told %+v", how)
			}
		})
	}
}

func TestThePeersCloseIsAnswered(t *testing.T) {
	for _, c := range []struct{ send, want string }{
		{"\x03\xe8done", "8:1000 done"},
		{"\x03\xe9", "8:1001 "},
		{"\x0f\xa1mine", "8:4001 mine"},
		{"", "8:"},
	} {
		s := serve(t, wsconn.Options{}, script{})
		p := s.rawDial()
		p.send(frame(true, 8, c.send))
		p.want(c.want, "end")
		how := receive(t, s.ended, "end")
		if !how.ByPeer || how.Err != nil || c.send == "" && how.Code != wsconn.CodeNone {
			t.Errorf("%q: handler was told %+v", c.send, how)
		}
	}
}

func TestABrokenConnectionIsReported(t *testing.T) {
	s := serve(t, wsconn.Options{}, script{})
	p := s.rawDial()
	p.send(text("half")[:3])
	_ = p.Close()
	if how := receive(t, s.ended, "end"); !how.ByPeer || how.Code != wsconn.CodeAbnormal || how.Err == nil {
		t.Errorf("handler was told %+v", how)
	}
}

func TestCutForgetsWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := wsconn.NewGroup(wsconn.Options{})
		h := &script{closed: make(chan wsconn.Ended, 1)}
		c, p := pipeConn(t, g, h)
		for range 10 {
			if err := c.SendText([]byte("waits")); err != nil {
				t.Fatal(err)
			}
			synctest.Wait() // the first is now stuck in the pipe
		}
		if err := c.Cut(4403, "refused", []byte("sorry")); err != nil {
			t.Fatal(err)
		}
		p.want("1:waits", "1:sorry", "8:4403 refused")
		p.send(frame(true, 8, "\x11\x33"))
		<-h.closed
		g.Close()
	})
}

func TestAPeerThatDoesNotAnswerTheCloseIsHungUpOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := wsconn.NewGroup(wsconn.Options{CloseTimeout: 3 * time.Second})
		h := &script{closed: make(chan wsconn.Ended, 1)}
		c, p := pipeConn(t, g, h)
		start := time.Now()
		if err := c.Close(4000, "bye"); err != nil {
			t.Fatal(err)
		}
		p.want("8:4000 bye", "end")
		if d := time.Since(start); d < 3*time.Second || d > 4*time.Second {
			t.Errorf("hung up after %v", d)
		}
		if how := <-h.closed; how.ByPeer || how.Code != 4000 {
			t.Errorf("handler was told %+v", how)
		}
		g.Close()
	})
}

func TestLastWordsPrecedeACloseOfOurOwn(t *testing.T) {
	s := serve(t, wsconn.Options{
		Read:      wsconn.ReadLimit{Message: 10},
		LastWords: func(why wsconn.Close) []byte { return fmt.Appendf(nil, "error %d", why.Code) },
	}, script{})
	p := s.rawDial()
	p.send(text("more than ten bytes"))
	p.want("1:error 1009", "8:1009 message too large")

	q := s.rawDial()
	s.conn()
	if err := s.conn().Close(4000, "the face's own"); err != nil {
		t.Fatal(err)
	}
	q.want("8:4000 the face's own")
}

func TestDrainClosesEveryoneAndTakesNoMore(t *testing.T) {
	s := serve(t, wsconn.Options{}, script{})
	const n = 20
	results := make(chan string, n)
	for range n {
		c := s.dial()
		go func() { results <- hearClose(t, c) }()
	}
	if err := s.Drain(t.Context(), wsconn.CodeRestart, "restarting"); err != nil {
		t.Fatal(err)
	}
	for range n {
		if got := receive(t, results, "close"); got != "1012 restarting" {
			t.Errorf("closed %q", got)
		}
	}
	if s.Len() != 0 || len(s.ended) != n {
		t.Errorf("%d open, %d ended", s.Len(), len(s.ended))
	}
	_, resp, err := websocket.Dial(t.Context(), "ws://"+s.addr, nil)
	if err == nil || resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("dial after drain: %v", err)
	}
}

func TestDrainHangsUpWhenItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := wsconn.NewGroup(wsconn.Options{CloseTimeout: time.Hour})
		h := &script{closed: make(chan wsconn.Ended, 2)}
		_, p := pipeConn(t, g, h)
		_, _ = pipeConn(t, g, h) // reads nothing at all
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		go func() {
			for p.readFrame() != "end" {
			}
		}()
		if err := g.Drain(ctx, 1001, ""); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("drain returned %v", err)
		}
		if len(h.closed) != 2 || g.Len() != 0 {
			t.Errorf("%d ended, %d open", len(h.closed), g.Len())
		}
	})
}

func TestDrainCanBeSpreadOverAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := wsconn.NewGroup(wsconn.Options{})
		h := &script{closed: make(chan wsconn.Ended, 10)}
		start := time.Now()
		times := make(chan time.Duration, 10)
		for range 10 {
			_, p := pipeConn(t, g, h)
			go func() {
				p.want("8:1012 later")
				times <- time.Since(start)
				p.send(frame(true, 8, "\x03\xf4"))
			}()
		}
		if err := g.DrainOver(t.Context(), 5*time.Second, wsconn.CodeRestart, "later"); err != nil {
			t.Fatal(err)
		}
		var last time.Duration
		for range 10 {
			last = max(last, <-times)
		}
		if last < 4*time.Second || last > 5*time.Second {
			t.Errorf("the last was told after %v", last)
		}
	})
}

func TestConcurrentSendsAndClosesAreSafe(t *testing.T) {
	s := serve(t, wsconn.Options{Queue: wsconn.QueueLimit{Frames: 64, Bytes: 1 << 20}}, script{message: echo})
	for round := range 20 {
		client := s.dial()
		go func() {
			for i := range 50 {
				if client.Write(context.Background(), websocket.MessageText, fmt.Append(nil, i)) != nil {
					return
				}
			}
		}()
		go func() { _ = hearClose(t, client) }()
		conn := s.conn()
		var wg sync.WaitGroup
		f := wsconn.Prepare(wsconn.Text, []byte("prepared"))
		for range 4 {
			wg.Go(func() {
				for range 100 {
					_ = conn.SendText([]byte("must"))
					_ = conn.SendFrame(f)
					_ = conn.Send(wsconn.Message{Kind: wsconn.Text, Data: []byte("n"), Policy: wsconn.Newest, Key: "k"})
					_ = conn.Send(wsconn.Message{Kind: wsconn.Text, Data: []byte("d"), Policy: wsconn.Droppable})
					conn.SetReadLimit(wsconn.ReadLimit{Message: 100})
					conn.SetDeadline(time.Hour, func(*wsconn.Conn) {})
				}
			})
			wg.Go(func() {
				switch round % 4 {
				case 0:
					_ = conn.Close(4000, "")
				case 1:
					_ = conn.Cut(4000, "", []byte("x"))
				case 2:
					conn.Abort()
				}
			})
		}
		wg.Wait()
		_ = conn.Close(1000, "")
		_ = receive(t, s.ended, "end")
	}
}

func TestDrainRacesWithArrivals(t *testing.T) {
	for range 10 {
		s := serve(t, wsconn.Options{}, script{message: echo})
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				c, _, err := websocket.Dial(context.Background(), "ws://"+s.addr, nil)
				if err != nil {
					return // refused: drained already
				}
				_ = hearClose(t, c)
			})
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		if err := s.Drain(ctx, 1001, "leaving"); err != nil {
			t.Error(err)
		}
		cancel()
		wg.Wait()
	}
}

func TestBadHandshakesAreAnswered(t *testing.T) {
	s := serve(t, wsconn.Options{}, script{})
	for name, c := range map[string]struct {
		request string
		status  int
	}{
		"plain GET":   {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", 426},
		"POST":        {strings.Replace(handshake, "GET", "POST", 1), 405},
		"old version": {strings.Replace(handshake, "13", "8", 1), 426},
		"no key":      {strings.Replace(handshake, "AAAA==", "", 1), 400},
		"HTTP/1.0":    {strings.Replace(handshake, "HTTP/1.1", "HTTP/1.0", 1), 505},
	} {
		conn, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		p := &peer{Conn: conn, t: t}
		p.send([]byte(c.request))
		line := make([]byte, 12)
		if _, err := io.ReadFull(conn, line); err != nil || !strings.HasSuffix(string(line), fmt.Sprint(c.status)) {
			t.Errorf("%s: answered %q, %v, want %d", name, line, err, c.status)
		}
		_ = conn.Close()
	}
	if s.Len() != 0 {
		t.Errorf("%d connections are counted", s.Len())
	}
}

// A client that never finishes its request is the HTTP server's to end; it is no connection of ours meanwhile.
func TestAnUnfinishedHandshakeHoldsNobodyUp(t *testing.T) {
	s := serve(t, wsconn.Options{}, script{message: echo})
	for range 50 {
		conn, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Write([]byte(handshake[:40])); err != nil {
			t.Fatal(err)
		}
	}
	c := s.dial()
	say(t, c, "hello")
	if got := hear(t, c); got != "hello" || s.Len() != 1 {
		t.Fatalf("got %q, %d connections", got, s.Len())
	}
}

func TestTheFirstFrameIsTheOneSentOnOpening(t *testing.T) {
	s := serve(t, wsconn.Options{}, script{message: echo}, func(c *wsconn.Conn) { _ = c.SendText([]byte("welcome")) })
	s.rawDial(text("impatient")...).want("1:welcome", "1:impatient")
}

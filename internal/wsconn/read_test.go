package wsconn_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"parley.internal/internal/wsconn"
)

func TestMessagesOfAllSizesAreEchoed(t *testing.T) {
	s := serve(t, wsconn.Options{Queue: wsconn.QueueLimit{Bytes: 16 << 20}, Read: wsconn.ReadLimit{Message: 4 << 20}}, script{message: echo})
	c := s.dial()
	for _, n := range []int{0, 1, 15, 16, 17, 125, 126, 1000, 1023, 1024, 1025, 4096, 65535, 65536, 1 << 20, 4 << 20} {
		for _, kind := range []websocket.MessageType{websocket.MessageText, websocket.MessageBinary} {
			want := strings.Repeat("x", n)
			if err := c.Write(t.Context(), kind, []byte(want)); err != nil {
				t.Fatal(err)
			}
			got, data, err := c.Read(t.Context())
			if err != nil || got != kind || string(data) != want {
				t.Fatalf("%d bytes: got %v of %d bytes, %v", n, got, len(data), err)
			}
		}
	}
}

func TestEchoOverTLS(t *testing.T) {
	var srv *httptest.Server
	s := serveOn(t, wsconn.Options{}, script{message: echo}, func(h *httptest.Server) { srv = h; h.StartTLS() })
	c, _, err := websocket.Dial(t.Context(), "wss://"+s.addr, &websocket.DialOptions{HTTPClient: srv.Client()})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{3, 3000, 20_000} {
		say(t, c, strings.Repeat("y", n))
		if got := hear(t, c); len(got) != n {
			t.Fatalf("%d of %d bytes came back", len(got), n)
		}
	}
	if err := s.conn().Close(4001, "bye"); err != nil {
		t.Fatal(err)
	}
	if got := hearClose(t, c); got != "4001 bye" {
		t.Fatalf("closed %q", got)
	}
	srv.Client().CloseIdleConnections()
}

func TestFramesSentWithTheHandshakeAreNotLost(t *testing.T) {
	s := serve(t, wsconn.Options{}, script{message: echo})
	big := strings.Repeat("z", 2000)
	s.rawDial(join(text("early"), text(big))...).want("1:early", "1:"+big)
}

func TestFragmentsAreJoinedWithControlFramesBetween(t *testing.T) {
	s := serve(t, wsconn.Options{}, script{message: echo})
	p := s.rawDial()
	p.send(frame(false, 1, "a"), frame(true, 9, "hi"), frame(false, 0, ""), frame(true, 0, "b"), frame(false, 2, "c"), frame(true, 0, ""))
	got := map[string]bool{}
	for range 3 {
		got[p.readFrame()] = true
	}
	if !got["1:ab"] || !got["2:c"] || !got["10:hi"] {
		t.Fatalf("got %v", got)
	}
}

func TestABytewiseSenderIsUnderstood(t *testing.T) {
	s := serve(t, wsconn.Options{}, script{message: echo})
	p := s.rawDial()
	for _, b := range join(text("slow"), text(strings.Repeat("q", 300))) {
		p.send([]byte{b})
	}
	p.want("1:slow", "1:"+strings.Repeat("q", 300))
}

func TestViolationsAreClosedWithTheirCode(t *testing.T) {
	huge := []byte{0x82, 0x80 | 127, 0x80, 0, 0, 0, 0, 0, 0, 1, 1, 2, 3, 4}
	for _, c := range []struct {
		name string
		send []byte
		want string
	}{
		{"unmasked frame", []byte{0x81, 1, 'x'}, "8:1002 bad frame"},
		{"length with the first bit set", huge, "8:1002 bad frame"},
		{"reserved bit", append([]byte{0xc1}, text("x")[1:]...), "8:1002 bad frame"},
		{"reserved opcode", frame(true, 3, "x"), "8:1002 bad frame"},
		{"reserved control opcode", frame(true, 11, "x"), "8:1002 bad frame"},
		{"fragmented control frame", frame(false, 9, "x"), "8:1002 bad frame"},
		{"long control frame", frame(true, 9, strings.Repeat("x", 126)), "8:1002 bad frame"},
		{"continuation of nothing", frame(true, 0, "x"), "8:1002 bad fragment"},
		{"message inside a message", join(frame(false, 1, "x"), text("y")), "8:1002 bad fragment"},
		{"invalid UTF-8", text("a\xff"), "8:1007 invalid UTF-8"},
		{"invalid UTF-8 across fragments", join(frame(false, 1, "\xc3"), frame(true, 0, "x")), "8:1007 invalid UTF-8"},
		{"close code that may not be sent", frame(true, 8, "\x03\xed"), "8:1002 bad close code"},
		{"close frame of one byte", frame(true, 8, "\x03"), "8:1002 bad close code"},
		{"close reason with invalid UTF-8", frame(true, 8, "\x03\xe8\xff"), "8:1007 invalid UTF-8"},
		{"too large", text(strings.Repeat("x", 1001)), "8:1009 message too large"},
		{"too large in fragments", join(frame(false, 1, strings.Repeat("x", 600)), frame(true, 0, strings.Repeat("x", 600))), "8:1009 message too large"},
		{"binary", frame(true, 2, "x"), "8:1003 binary message"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, wsconn.Options{Read: wsconn.ReadLimit{Message: 1000}, RefuseBinary: true}, script{
				message: func(*wsconn.Conn, wsconn.Kind, []byte) { t.Error("delivered") },
			})
			p := s.rawDial()
			p.send(c.send)
			p.want(c.want)
			_ = p.Close()
			how := receive(t, s.ended, "end")
			if how.ByPeer || fmt.Sprintf("8:%d %s", how.Code, how.Reason) != c.want {
				t.Errorf("handler was told %+v", how)
			}
		})
	}
}

func TestTextCanBeRefused(t *testing.T) {
	s := serve(t, wsconn.Options{RefuseText: true}, script{message: echo})
	c := s.dial()
	if err := c.Write(t.Context(), websocket.MessageBinary, []byte("ok")); err != nil {
		t.Fatal(err)
	}
	if got := hear(t, c); got != "ok" {
		t.Fatalf("got %q", got)
	}
	say(t, c, "no")
	if got := hearClose(t, c); got != "1003 text message" {
		t.Fatalf("closed %q", got)
	}
}

func TestTheCloseFrameOfAnOversizedMessageReachesAClientThatIsStillSending(t *testing.T) {
	s := serve(t, wsconn.Options{Read: wsconn.ReadLimit{Message: 1000, Close: wsconn.Close{Code: 4401, Reason: "too much"}}}, script{})
	c := s.dial()
	go func() { _ = c.Write(context.Background(), websocket.MessageBinary, make([]byte, 8<<20)) }()
	if got := hearClose(t, c); got != "4401 too much" {
		t.Fatalf("closed %q", got)
	}
}

// A client may send its next message without waiting for the answer that raises the limit.
func TestANewReadLimitHoldsForTheVeryNextMessage(t *testing.T) {
	s := serve(t, wsconn.Options{Read: wsconn.ReadLimit{Message: 10}}, script{message: func(c *wsconn.Conn, k wsconn.Kind, data []byte) {
		switch string(data) {
		case "raise":
			c.SetReadLimit(wsconn.ReadLimit{Message: 5000})
		case "lower":
			c.SetReadLimit(wsconn.ReadLimit{Message: 10, Close: wsconn.Close{Code: 4400, Reason: "low"}})
		default:
			echo(c, k, data)
		}
	}})
	p := s.rawDial()
	small := strings.Repeat("s", 100)
	p.send(text("raise"), text(small), text("lower"), text(small))
	p.want("1:"+small, "8:4400 low")
}

func TestAnOversizedMessageCanBeSkippedWhileItIsRead(t *testing.T) {
	const size = 300_000
	big := "head of " + strings.Repeat("é", size/2)
	for _, c := range []struct {
		name string
		send []byte
		head int
		size int64
	}{
		{"in one frame", text(big), 1024, size + 8},
		{"in fragments, too large at first", join(frame(false, 1, big), frame(true, 9, ""), frame(false, 0, "more"), frame(true, 0, "end")), 1024, size + 8},
		{"in fragments, too large at last", join(frame(false, 1, big[:1500]), frame(true, 0, big[1500:])), 2000, size + 8},
		{"in fragments, exactly full before", join(frame(false, 1, big[:2000]), frame(true, 0, "x")), 2000, 2001},
	} {
		t.Run(c.name, func(t *testing.T) {
			type skipped struct {
				head string
				size int64
			}
			got := make(chan skipped, 1)
			s := serve(t, wsconn.Options{Read: wsconn.ReadLimit{Message: 2000, Discard: 1 << 20}}, script{
				message:  echo,
				oversize: func(_ *wsconn.Conn, _ wsconn.Kind, head []byte, n int64) { got <- skipped{string(head), n} },
			})
			p := s.rawDial()
			p.send(text("before"), c.send, text("after"))
			o := receive(t, got, "notice")
			if o.size != c.size || o.head != big[:c.head] {
				t.Errorf("told of %d bytes, shown %d beginning %.20q", o.size, len(o.head), o.head)
			}
			p.wantData("1:before", "1:after")
			if n := s.Metrics().Oversized.Load(); n != 1 {
				t.Errorf("counted %d", n)
			}
		})
	}
}

func TestBeyondTheDiscardLimitTheConnectionIsClosed(t *testing.T) {
	for name, send := range map[string][]byte{
		"announced":         frame(true, 2, strings.Repeat("x", 20_000))[:20],
		"grown by fragment": join(frame(false, 2, strings.Repeat("x", 6000)), frame(false, 0, strings.Repeat("x", 6000))),
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, wsconn.Options{Read: wsconn.ReadLimit{Message: 1000, Discard: 10_000}}, script{})
			p := s.rawDial()
			p.send(send)
			p.want("8:1009 message too large")
		})
	}
}

func TestAdmitDropsOrCloses(t *testing.T) {
	n := 0
	s := serve(t, wsconn.Options{Admit: func(_ *wsconn.Conn, _ wsconn.Kind, size int) error {
		switch n++; n {
		case 1:
			return errors.New("dropped")
		case 3:
			return fmt.Errorf("flood: %w", wsconn.Close{Code: 4429, Reason: "flooding"})
		}
		return nil
	}}, script{message: echo})
	c := s.dial()
	for _, m := range []string{"one", "two", "three"} {
		say(t, c, m)
	}
	if got := hear(t, c); got != "two" {
		t.Fatalf("got %q", got)
	}
	if got := hearClose(t, c); got != "4429 flooding" {
		t.Fatalf("closed %q", got)
	}
	if n := s.Metrics().Refused.Load(); n != 2 {
		t.Errorf("counted %d", n)
	}
}

func TestAPanicEndsOneConnectionOnly(t *testing.T) {
	s := serve(t, wsconn.Options{}, script{message: func(c *wsconn.Conn, k wsconn.Kind, data []byte) {
		if string(data) == "boom" {
			panic("boom")
		}
		echo(c, k, data)
	}})
	a, b := s.dial(), s.dial()
	say(t, a, "boom")
	if got := hearClose(t, a); got != "1011 internal error" {
		t.Fatalf("closed %q", got)
	}
	say(t, b, "still here")
	if got := hear(t, b); got != "still here" {
		t.Fatalf("got %q", got)
	}
}

func FuzzAnyBytesFromThePeerEndInACloseOrAreWaitedFor(f *testing.F) {
	f.Add(text("hello"))
	f.Add(frame(false, 1, "a"))
	f.Add(join(frame(false, 1, strings.Repeat("x", 200)), frame(true, 0, "b"), text("c")))
	f.Add(frame(true, 2, strings.Repeat("x", 500)))
	f.Add(frame(true, 8, "\x03\xe8bye"))
	f.Add([]byte{0x82, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4})
	g := wsconn.NewGroup(wsconn.Options{Read: wsconn.ReadLimit{Message: 100, Discard: 400}})
	f.Cleanup(g.Close)
	f.Fuzz(func(t *testing.T, data []byte) {
		h := &script{closed: make(chan wsconn.Ended, 1), message: func(_ *wsconn.Conn, _ wsconn.Kind, data []byte) {
			if len(data) > 100 {
				t.Errorf("delivered %d bytes", len(data))
			}
		}}
		_, p := pipeConn(t, g, h)
		go func() {
			for p.readFrame() != "end" {
			}
		}()
		_, _ = p.Write(data)
		_ = p.Close()
		<-h.closed
	})
}

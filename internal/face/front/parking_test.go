package front

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type everybody struct{}

func (everybody) Check(*http.Request) error { return nil }

// seenRequests is told of every finished request.
type seenRequests struct {
	mu  sync.Mutex
	all []string
}

func (s *seenRequests) Request(method, route string, status int, _ time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, method+" "+route+" "+http.StatusText(status))
}

func (s *seenRequests) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

// lot is a server with a parking. /wait is answered when the test says so, /now at
// once.
type lot struct {
	t       *testing.T
	parking *Parking
	server  *httptest.Server
	seen    *seenRequests
	// waiting hears of each request that waits, gone of each that does no more.
	waiting, gone chan struct{}
	release       chan string
	parked        atomic.Pointer[Parked] // the latest
	// left counts what After was told.
	left chan struct{}
}

func newLot(t *testing.T, idle time.Duration, secure bool) *lot {
	t.Helper()
	l := &lot{
		t: t, parking: NewParking(idle, slog.New(slog.DiscardHandler)), seen: &seenRequests{},
		waiting: make(chan struct{}, 16), gone: make(chan struct{}, 16), release: make(chan string, 16), left: make(chan struct{}, 64),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/wait", func(w http.ResponseWriter, r *http.Request) {
		if !l.park(w, r, l.look) {
			l.waiting <- struct{}{}
			select {
			case text := <-l.release:
				say(w, text)
			case <-r.Context().Done():
			}
		}
	})
	mux.HandleFunc("/now", func(w http.ResponseWriter, _ *http.Request) { say(w, "now") })
	mux.HandleFunc("/panic", func(w http.ResponseWriter, r *http.Request) {
		l.park(w, r, func(context.Context, http.ResponseWriter) time.Time { panic("boom") })
		l.parked.Load().Wake()
	})
	mux.HandleFunc("/late", func(w http.ResponseWriter, r *http.Request) {
		l.park(w, r, l.look)
		panic("boom")
	})
	f := New(Deps{Guard: everybody{}, Logger: slog.New(slog.DiscardHandler), Watch: l.seen, Parking: l.parking})
	handler := f.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer After(w, func() { l.left <- struct{}{} })
		mux.ServeHTTP(w, r)
	}))
	l.server = httptest.NewUnstartedServer(handler)
	if secure {
		l.server.EnableHTTP2 = true
		l.server.StartTLS()
	} else {
		l.server.Start()
	}
	var g sync.WaitGroup
	back := l.parking.Listener()
	g.Go(func() { _ = l.server.Config.Serve(back) })
	t.Cleanup(func() {
		if err := l.parking.Close(context.Background()); err != nil {
			t.Error(err)
		}
		g.Wait()
		l.server.Close()
	})
	return l
}

func say(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(http.StatusOK)
	_, _ = io.WriteString(w, text)
}

func (l *lot) park(w http.ResponseWriter, r *http.Request, look func(context.Context, http.ResponseWriter) time.Time) bool {
	p := Prepare(w, r)
	if p == nil {
		return false
	}
	l.parked.Store(p)
	if !p.Park(w, time.Now().Add(time.Hour), Waiting{Look: look, Leave: func() { l.gone <- struct{}{} }}) {
		l.t.Error("was not parked")
	}
	l.waiting <- struct{}{}
	return true
}

// look answers with what the test said.
func (l *lot) look(_ context.Context, w http.ResponseWriter) time.Time {
	select {
	case text := <-l.release:
		say(w, text)
		return time.Time{}
	default:
		return time.Now().Add(time.Hour)
	}
}

// answer lets the request that came last have its answer.
func (l *lot) answer(text string) {
	l.release <- text
	if p := l.parked.Load(); p != nil {
		p.Wake()
	}
}

// client is a connection at which a test writes what it likes.
type client struct {
	*lot
	net.Conn
	in *bufio.Reader
}

func (l *lot) dial() *client {
	l.t.Helper()
	var d net.Dialer
	conn, err := d.DialContext(l.t.Context(), "tcp", l.server.Listener.Addr().String())
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = conn.Close() })
	return &client{l, conn, bufio.NewReader(conn)}
}

func (c *client) ask(raw string) {
	c.t.Helper()
	if _, err := io.WriteString(c.Conn, raw); err != nil {
		c.t.Fatal(err)
	}
}

func get(path string) string { return "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n" }

// hears reads an answer and fails unless its body is that.
func (c *client) hears(want string) *http.Response {
	c.t.Helper()
	res, err := http.ReadResponse(c.in, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil || string(body) != want {
		c.t.Fatalf("%q %v, want %q", body, err, want)
	}
	return res
}

// hungUp fails unless the server has closed the connection.
func (c *client) hungUp() {
	c.t.Helper()
	if _, err := c.in.ReadByte(); err == nil {
		c.t.Fatal("the connection lives")
	}
}

// until waits for what happens soon.
func (l *lot) until(done func() bool) {
	l.t.Helper()
	for !done() {
		select {
		case <-time.After(time.Millisecond):
		case <-l.t.Context().Done():
			l.t.Fatal("the test ended first")
		}
	}
}

func TestAParkedAnswerReadsLikeTheServersOwn(t *testing.T) {
	l := newLot(t, time.Minute, false)
	vary := regexp.MustCompile(`(Date|X-Request-Id): [^\r]*`)
	var raw [2]string
	for i, header := range []string{"", "Connection: close\r\n"} {
		for j, body := range []string{"", "Content-Length: 1\r\n"} { // a request with a body is not parked
			c := l.dial()
			c.ask("GET /wait HTTP/1.1\r\nHost: x\r\n" + header + body + "\r\n" + strings.Repeat("x", len(body)/19))
			<-l.waiting
			l.until(func() bool { return l.parking.number() == 1-j })
			l.answer("hello")
			var text strings.Builder
			for !strings.HasSuffix(text.String(), "hello") {
				b, err := c.in.ReadByte()
				if err != nil {
					t.Fatal(err)
				}
				text.WriteByte(b)
			}
			raw[j] = vary.ReplaceAllString(text.String(), "$1: …")
			_ = c.Close()
			l.until(func() bool { return l.parking.number() == 0 })
		}
		if raw[0] != raw[1] {
			t.Errorf("%d: parked\n%s\nordinary\n%s", i, raw[0], raw[1])
		}
	}
}

func TestAConnectionSpeaksAgainAfterAParkedAnswer(t *testing.T) {
	l := newLot(t, time.Minute, false)
	c := l.dial()
	for range 3 {
		c.ask(get("/wait"))
		<-l.waiting
		l.answer("later")
		c.hears("later")
		c.ask(get("/now"))
		c.hears("now")
	}
	if n := l.parking.number(); n != 0 {
		t.Errorf("%d are parked", n)
	}
}

func TestWhatIsSentWhileARequestIsParkedIsNotLost(t *testing.T) {
	for name, parts := range map[string][2]string{
		"with the request":       {get("/wait") + get("/now") + get("/wait"), ""},
		"half with the request":  {get("/wait") + get("/now")[:5], get("/now")[5:] + get("/wait")},
		"while it waits":         {get("/wait"), get("/now") + get("/wait")},
		"a byte while it waits":  {get("/wait"), get("/now")[:1]},
		"nothing while it waits": {get("/wait"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLot(t, time.Minute, false)
			c := l.dial()
			c.ask(parts[0])
			<-l.waiting
			c.ask(parts[1])
			l.answer("first")
			c.hears("first")
			c.ask((get("/wait") + get("/now") + get("/wait"))[len(parts[0])+len(parts[1]):])
			c.hears("now")
			<-l.waiting
			l.answer("second")
			c.hears("second")
		})
	}
}

func TestAParkedClientThatLeavesLeavesNothing(t *testing.T) {
	for name, leave := range map[string]func(*net.TCPConn) error{
		"closes":       (*net.TCPConn).Close,
		"half-closes":  (*net.TCPConn).CloseWrite,
		"is cut off":   func(c *net.TCPConn) error { return errors.Join(c.SetLinger(0), c.Close()) },
		"after a byte": func(c *net.TCPConn) error { _, err := c.Write([]byte("G")); return errors.Join(err, c.Close()) },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLot(t, time.Minute, false)
			c := l.dial()
			c.ask(get("/wait"))
			<-l.waiting
			tcp, _ := c.Conn.(*net.TCPConn)
			if err := leave(tcp); err != nil {
				t.Fatal(err)
			}
			if name == "after a byte" {
				l.answer("nobody hears it") // as with any server, more is not read before the answer
			} else {
				<-l.gone
			}
			<-l.left
			l.until(func() bool { return l.parking.number() == 0 && l.seen.count() == 1 })
		})
	}
}

func TestAClientThatSaysNothingAfterItsAnswerIsHungUpOn(t *testing.T) {
	l := newLot(t, time.Millisecond, false)
	c := l.dial()
	c.ask(get("/wait"))
	<-l.waiting
	l.answer("hello")
	c.hears("hello")
	c.hungUp()
}

func TestAClientThatWantsToCloseIsToldGoodbye(t *testing.T) {
	l := newLot(t, time.Minute, false)
	c := l.dial()
	c.ask("GET /wait HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	<-l.waiting
	l.answer("hello")
	if res := c.hears("hello"); !res.Close {
		t.Error("the answer does not say close")
	}
	c.hungUp()
}

func TestOnlyPlainRequestsWithoutABodyAreParked(t *testing.T) {
	l := newLot(t, time.Minute, false)
	for name, raw := range map[string]string{
		"an old client":  "GET /wait HTTP/1.0\r\nHost: x\r\n\r\n",
		"a write":        "POST /wait HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
		"with a body":    "GET /wait HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx",
		"with some body": "GET /wait HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			c := l.dial()
			c.ask(raw)
			<-l.waiting
			if n := l.parking.number(); n != 0 {
				t.Errorf("%d are parked", n)
			}
			l.answer("hello")
			c.hears("hello")
		})
	}
	for name, version := range map[string]string{"encrypted": "HTTP/1.1", "multiplexed": "HTTP/2.0"} {
		t.Run(name, func(t *testing.T) {
			l := newLot(t, time.Minute, true)
			http1 := l.server.Client()
			if tr, ok := http1.Transport.(*http.Transport); ok && version == "HTTP/1.1" {
				tr.ForceAttemptHTTP2, tr.TLSClientConfig.NextProtos = false, []string{"http/1.1"}
			}
			l.release <- "hello"
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, l.server.URL+"/wait", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			res, err := http1.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(res.Body)
			_ = res.Body.Close()
			if res.Proto != version || string(body) != "hello" {
				t.Errorf("%s %q; want res.Proto to be %v, string(body) to be \"hello\"", res.Proto, body, version)
			}
			http1.CloseIdleConnections()
		})
	}
}

func TestAParkedRequestIsCountedWhenItIsAnswered(t *testing.T) {
	l := newLot(t, time.Minute, false)
	c := l.dial()
	c.ask(get("/wait"))
	<-l.waiting
	l.parked.Load().Wake() // for nothing
	if l.seen.count() != 0 || len(l.left) != 0 {
		t.Error("it was counted before it was answered")
	}
	l.answer("hello")
	c.hears("hello")
	<-l.left
	l.until(func() bool { return l.seen.count() == 1 })
	if l.seen.all[0] != "GET /wait OK" {
		t.Errorf("%v; want l.seen.all[0] to be \"GET /wait OK\"", l.seen.all)
	}
}

func TestAPanicOfAParkedRequestEndsItsConnectionOnly(t *testing.T) {
	l := newLot(t, time.Minute, false)
	for _, path := range []string{"/panic", "/late"} {
		c := l.dial()
		c.ask(get(path))
		c.hungUp()
		<-l.left
	}
	c := l.dial()
	c.ask(get("/now"))
	c.hears("now")
}

func TestClosingTheParkingHangsUpOnAll(t *testing.T) {
	l := newLot(t, time.Minute, false)
	waits, idle, deaf := l.dial(), l.dial(), l.dial()
	idle.ask(get("/wait"))
	<-l.waiting
	l.answer("hello")
	idle.hears("hello")
	<-l.gone
	waits.ask(get("/wait"))
	<-l.waiting
	deaf.ask(get("/wait"))
	<-l.waiting
	if err := l.parking.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-l.gone
	<-l.gone
	waits.hungUp()
	idle.hungUp()
	if n := l.parking.number(); n != 0 {
		t.Errorf("%d are left", n)
	}
	// Who comes later is served the ordinary way, as long as the server is there.
	late := l.dial()
	late.ask(get("/now"))
	late.hears("now")
}

func TestAClientThatDoesNotReadItsAnswerHoldsNobodyUp(t *testing.T) {
	l := newLot(t, time.Minute, false)
	deaf := l.dial()
	deaf.ask(get("/wait"))
	<-l.waiting
	l.answer(strings.Repeat("x", 64<<20)) // more than sockets hold
	other := l.dial()
	other.ask(get("/wait"))
	<-l.waiting
	l.answer("hello")
	other.hears("hello")
	if err := l.parking.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// number of connections that are parked.
func (l *Parking) number() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.all)
}

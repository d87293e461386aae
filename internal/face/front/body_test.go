package front_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley.internal/internal/face/front"
	"parley.internal/internal/limit"
)

// pipes is a listener without a network, so that its time can be a test's.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

type anybody struct{}

func (anybody) Check(*http.Request) error { return nil }

// strangers is how many may be in on routes of these tests.
var strangers = limit.Share{PerNetwork: 100, Total: 100}

// serveBody runs a server with one route in a bubble and gives the client's end of
// a connection to it.
func serveBody(t *testing.T, body front.Body, handle http.HandlerFunc) net.Conn {
	t.Helper()
	f := front.New(front.Deps{Guard: anybody{}, Logger: slog.New(slog.DiscardHandler)})
	routes := front.NewRoutes(f)
	routes.HandleFunc(front.Route{Pattern: "POST /{$}", Who: front.Stranger, Body: body, Strangers: strangers}, handle)
	l := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: f.Wrap(routes), ReadHeaderTimeout: time.Minute, IdleTimeout: time.Hour}
	go func() { _ = server.Serve(l) }()
	ours, theirs := net.Pipe()
	l.conns <- theirs
	t.Cleanup(func() {
		_ = ours.Close()
		_ = server.Close()
		<-time.After(time.Second) // the server lingers a little over what it closes
	})
	return ours
}

// readAll answers with the size of the body, or with the front's problem.
func readAll(f *front.Front) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			f.Fail(w, r, err)
			return
		}
		fmt.Fprint(w, len(data))
	}
}

func theFront() *front.Front {
	return front.New(front.Deps{Guard: anybody{}, Logger: slog.New(slog.DiscardHandler)})
}

// send writes a head that announces so many bytes, and then as feed says.
func send(t *testing.T, c net.Conn, path string, announced int, feed func(io.Writer)) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", path, announced)
		feed(c)
	}()
	t.Cleanup(func() {
		_ = c.Close()
		<-done
	})
}

// every writes so many bytes again and again until nobody takes them.
func every(pause time.Duration, n int) func(io.Writer) {
	return func(w io.Writer) {
		for {
			if _, err := w.Write(make([]byte, n)); err != nil {
				return
			}
			<-time.After(pause)
		}
	}
}

func answerOf(t *testing.T, c net.Conn) (status int, body string) {
	t.Helper()
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("the answer is cut: %v", err)
	}
	return res.StatusCode, string(data)
}

var paced = front.Body{Max: 1 << 20, Time: 30 * time.Second, Pause: 10 * time.Second, Rate: 1000}

func TestABodyThatDribblesIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := serveBody(t, paced, readAll(theFront()))
		began := time.Now()
		send(t, c, "/", 1000, every(9*time.Second, 1))
		status, body := answerOf(t, c)
		if took := time.Since(began); status != http.StatusRequestTimeout || !strings.Contains(body, `"code":"timeout"`) || took != 30*time.Second {
			t.Errorf("%d after %v: %s, want 408 when the body's time is over", status, took, body)
		}
	})
}

func TestABodyThatStopsIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := serveBody(t, paced, readAll(theFront()))
		began := time.Now()
		send(t, c, "/", 1000, func(w io.Writer) { _, _ = w.Write(make([]byte, 10)) })
		if status, _ := answerOf(t, c); status != http.StatusRequestTimeout || time.Since(began) != 10*time.Second {
			t.Errorf("%d after %v, want 408 after one pause", status, time.Since(began))
		}
	})
}

func TestALongUploadThatKeepsItsPaceIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := serveBody(t, paced, readAll(theFront()))
		send(t, c, "/", 500_000, func(w io.Writer) {
			for range 500 {
				_, _ = w.Write(make([]byte, 1000))
				<-time.After(time.Second)
			}
		})
		if status, body := answerOf(t, c); status != http.StatusOK || body != "500000" {
			t.Errorf("eight minutes at the pace that is asked for: %d %s", status, body)
		}
	})
}

// What the handler does between reads is not the caller's fault.
func TestAHandlerThatTakesItsTimeDoesNotCutTheBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := serveBody(t, paced, func(w http.ResponseWriter, r *http.Request) {
			n := 0
			for buf := make([]byte, 10); ; {
				got, err := r.Body.Read(buf)
				n += got
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Errorf("after %d bytes: %v", n, err)
					break
				}
				<-time.After(time.Minute)
			}
			fmt.Fprint(w, n)
		})
		send(t, c, "/", 50, func(w io.Writer) { _, _ = w.Write(make([]byte, 50)) })
		if status, body := answerOf(t, c); status != http.StatusOK || body != "50" {
			t.Errorf("%d %s; want status to be %v, body to be \"50\"", status, body, http.StatusOK)
		}
	})
}

// The REST library gives every body five seconds, however large it may be.
func TestTheDeclaredPaceHoldsAndNotALibrarys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := theFront()
		c := serveBody(t, paced, func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(5 * time.Second))
			readAll(f)(w, r)
		})
		send(t, c, "/", 3, func(w io.Writer) {
			for range 3 {
				<-time.After(7 * time.Second)
				_, _ = w.Write([]byte("x"))
			}
		})
		if status, body := answerOf(t, c); status != http.StatusOK || body != "3" {
			t.Errorf("pauses of seven seconds where ten are allowed: %d %s", status, body)
		}
	})
}

func TestAfterItsBodyARequestMayTakeAsLongAsItLikes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := serveBody(t, paced, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			select {
			case <-r.Context().Done():
				t.Errorf("the request was ended: %v", context.Cause(r.Context()))
			case <-time.After(time.Hour):
			}
			fmt.Fprint(w, "done")
		})
		send(t, c, "/", 10, func(w io.Writer) { _, _ = w.Write(make([]byte, 10)) })
		if status, body := answerOf(t, c); status != http.StatusOK || body != "done" {
			t.Errorf("%d %s; want status to be %v, body to be \"done\"", status, body, http.StatusOK)
		}
	})
}

// The server itself reads what a handler leaves, before it sends the answer.
func TestABodyNobodyReadsIsCutToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, path := range map[string]string{"by the handler": "/", "on no route at all": "/nowhere"} {
			c := serveBody(t, paced, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "early") })
			began := time.Now()
			send(t, c, path, 1000, every(time.Second, 1))
			if status, _ := answerOf(t, c); status >= 500 || time.Since(began) > 31*time.Second {
				t.Errorf("left unread %s: %d after %v, want an answer when the body's time is over", name, status, time.Since(began))
			}
		}
	})
}

func TestABodyThatIsTooLargeIsRefusedAndItsWriterAnswered(t *testing.T) {
	small := front.Body{Max: 10, Drain: 100}
	for announced, want := range map[int]int{10: http.StatusOK, 11: http.StatusRequestEntityTooLarge, 110: http.StatusRequestEntityTooLarge, 1 << 30: http.StatusRequestEntityTooLarge} {
		synctest.Test(t, func(t *testing.T) {
			c := serveBody(t, small, readAll(theFront()))
			send(t, c, "/", announced, func(w io.Writer) {
				if announced < 1<<20 {
					_, _ = w.Write(make([]byte, announced))
				}
			})
			if status, body := answerOf(t, c); status != want {
				t.Errorf("%d bytes where ten are allowed: %d %s, want %d", announced, status, body, want)
			}
		})
	}
}

func TestARouteThatLeavesADoorOpenIsNotServed(t *testing.T) {
	routes := front.NewRoutes(theFront())
	for why, rt := range map[string]front.Route{
		"no pattern":            {Who: front.Stranger},
		"nobody said who":       {Pattern: "GET /a"},
		"a body of any size":    {Pattern: "POST /b", Who: front.SignedIn},
		"any method, no body":   {Pattern: "/c", Who: front.SignedIn},
		"strangers without end": {Pattern: "POST /d", Who: front.Stranger, Body: front.Body{Max: 1}},
		"sockets without end":   {Pattern: "GET /e", Who: front.Stranger, Login: time.Second},
		"no bound in all":       {Pattern: "GET /f", Who: front.Stranger, Login: time.Second, Strangers: limit.Share{PerNetwork: 1}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: the route is served", why)
				}
			}()
			routes.HandleFunc(rt, func(http.ResponseWriter, *http.Request) {})
		}()
	}
	if all := routes.Declared(); len(all) != 0 {
		t.Errorf("%d of them are among the routes", len(all))
	}
}

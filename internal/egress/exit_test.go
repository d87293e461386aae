package egress_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"parley.internal/internal/egress"
	"parley.internal/internal/publicnet"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// inside is a guard that resolves every name to this machine and may go there.
func inside() publicnet.Guard {
	return publicnet.Guard{
		Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Lookup: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		},
	}
}

// serve starts an exit and gives its address.
func serve(t *testing.T, o egress.Options) (*egress.Exit, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e, served := egress.New(o), make(chan struct{})
	go func() { defer close(served); e.Serve(l, "") }()
	t.Cleanup(func() { e.Close(); <-served })
	return e, l.Addr().String()
}

func site(t *testing.T) (port string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "page of %s, forwarded %q", r.Host, r.Header.Get("X-Forwarded-For"))
	}))
	t.Cleanup(server.Close)
	_, port, _ = net.SplitHostPort(server.Listener.Addr().String())
	return port
}

// get asks for an address through the exit.
func get(t *testing.T, proxy, address string) (status int, body string) {
	t.Helper()
	transport := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: proxy}), DisableKeepAlives: true}
	resp, err := (&http.Client{Transport: transport}).Get(address)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text)
}

// connect asks for a tunnel and tells the status.
func connect(t *testing.T, proxy, address string) (net.Conn, string) {
	t.Helper()
	c, err := net.Dial("tcp", proxy)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_, _ = fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", address, address)
	line, err := bufio.NewReader(io.LimitReader(c, 13)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return c, strings.TrimSpace(line)
}

func TestAHostIsAskedAboutOnce(t *testing.T) {
	port := site(t)
	var asked atomic.Int32
	begin := make(chan struct{})
	_, proxy := serve(t, egress.Options{Guard: inside(), Permit: func(_ context.Context, host string) error {
		asked.Add(1)
		<-begin
		if host == "no.example" {
			return errors.New("a person said no")
		}
		return nil
	}})
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if status, body := get(t, proxy, "http://Fine.Example.:"+port+"/"); status != 200 || !strings.Contains(body, "page of") || !strings.Contains(body, `forwarded ""`) {
				t.Errorf("%d %s; expected the page, and nothing added to the request", status, body)
			}
		})
	}
	close(begin)
	all.Wait()
	if n := asked.Load(); n != 1 {
		t.Errorf("a person was asked %d times about one host", n)
	}
	for range 3 {
		if status, body := get(t, proxy, "http://no.example:"+port+"/"); status != http.StatusForbidden || !strings.Contains(body, "a person said no") {
			t.Errorf("%d %s; expected the person's no", status, body)
		}
	}
	if n := asked.Load(); n != 2 {
		t.Errorf("a person was asked again after a no: %d questions for two hosts", n)
	}
}

// A program that wants a thousand hosts is not a thousand questions.
func TestNobodyIsFloodedWithQuestions(t *testing.T) {
	var asked atomic.Int32
	_, proxy := serve(t, egress.Options{Guard: inside(), Permit: func(context.Context, string) error {
		asked.Add(1)
		return errors.New("no")
	}})
	for i := range 100 {
		if status, _ := get(t, proxy, fmt.Sprintf("http://host%d.example/", i)); status != http.StatusForbidden {
			t.Errorf("status %d", status)
		}
	}
	if n := asked.Load(); n > 32 {
		t.Errorf("%d questions for one program", n)
	}
}

// A yes to a name must not be a yes to the machine's own network behind it.
func TestWhatIsNotPublicIsNotReachedWhoeverSaysYes(t *testing.T) {
	port := site(t)
	asked := false
	_, proxy := serve(t, egress.Options{
		Guard:  publicnet.Guard{Lookup: inside().Lookup},
		Hosts:  []string{"127.0.0.1", "localhost", "listed.example"},
		Permit: func(_ context.Context, host string) error { asked = asked || host != "rebound.example"; return nil },
	})
	for _, host := range []string{"127.0.0.1", "localhost", "169.254.169.254", "[::1]", "2130706433", "0x7f.1", "10.0.0.1", "rebound.example", "listed.example", "metadata.google.internal"} {
		if status, body := get(t, proxy, "http://"+host+":"+port+"/"); status != http.StatusForbidden {
			t.Errorf("%s: %d %s; expected a refusal", host, status, body)
		}
		if _, said := connect(t, proxy, host+":"+port); said != "HTTP/1.1 403" {
			t.Errorf("CONNECT %s: %s; expected a refusal", host, said)
		}
	}
	if asked {
		t.Error("a person was asked about an address that nobody can allow")
	}
}

func TestTunnelsCarryBothWaysAndEndWithTheBox(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); _ = c.Close() }()
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	e, proxy := serve(t, egress.Options{Guard: inside(), Hosts: []string{"*.example"}})
	c, said := connect(t, proxy, "echo.example:"+port)
	if said != "HTTP/1.1 200" {
		t.Fatalf("CONNECT: %s", said)
	}
	rest := bufio.NewReader(c)
	for range 2 { // what is left of the answer's head
		if _, err := rest.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := io.WriteString(c, "there and back\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := rest.ReadString('\n'); err != nil || line != "there and back\n" {
		t.Errorf("%q, %v; want no error, \"there and back\\n\"", line, err)
	}
	e.Close()
	if _, err := rest.ReadByte(); err == nil {
		t.Error("the tunnel is open after its box was closed")
	}
}

func TestAskedIsGivenUpWithTheBox(t *testing.T) {
	waiting := make(chan struct{})
	e, proxy := serve(t, egress.Options{Guard: inside(), Permit: func(ctx context.Context, _ string) error {
		close(waiting)
		<-ctx.Done()
		return ctx.Err()
	}})
	c, err := net.Dial("tcp", proxy)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = io.WriteString(c, "GET http://slow.example/ HTTP/1.1\r\nHost: slow.example\r\n\r\n")
	<-waiting
	e.Close()
	_, _ = io.ReadAll(c) // it ends
}

func FuzzListed(f *testing.F) {
	for _, s := range []string{"example.org", "*.example.org", "*", "*.", "", "*.org", ".."} {
		f.Add(s, "www.example.org")
	}
	f.Fuzz(func(t *testing.T, pattern, host string) {
		if egress.Listed([]string{pattern}, host) && !strings.HasPrefix(pattern, "*.") && !strings.EqualFold(strings.TrimSuffix(pattern, "."), host) {
			t.Errorf("%q lets %q through", pattern, host)
		}
		if egress.Listed([]string{"*.example.org"}, host) && !strings.HasSuffix(host, ".example.org") {
			t.Errorf("*.example.org lets %q through", host)
		}
	})
}

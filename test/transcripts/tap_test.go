package transcripts_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"parley.internal/test/hubtest"
)

// tap stands between a client and a hub and writes down what goes through.
type tap struct {
	t    *testing.T
	hub  *hubtest.Hub
	http *http.Client
	// URL is the hub's address as the client sees it, behind where it really is.
	URL, behind string
	// text shows a frame of a socket; nil means that it is text already.
	text func(from string, frame []byte) string

	mu   sync.Mutex
	said []entry
}

type entry struct{ from, text string }

// newTap starts a hub that knows itself by the tap's address.
func newTap(t *testing.T) *tap {
	t.Helper()
	l := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	p := &tap{t: t, http: &http.Client{Timeout: hubtest.Patience, Transport: &http.Transport{DisableKeepAlives: true}}, behind: l.Addr().String(), text: func(_ string, frame []byte) string { return string(frame) }}
	must(0, l.Close())(t)
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	p.URL = server.URL
	p.hub = hubtest.Start(t, hubtest.Config{Args: []string{"--name", "hub", "--listen", p.behind, "--public-url", p.URL}})
	return p
}

func (p *tap) note(from, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said = append(p.said, entry{from, text})
}

// forget begins the transcript anew.
func (p *tap) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said = nil
}

// seen waits until somebody said something that contains the text.
func (p *tap) seen(text string) {
	p.t.Helper()
	hubtest.Eventually(p.t, "somebody says "+text, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return slices.ContainsFunc(p.said, func(e entry) bool { return strings.Contains(e.text, text) })
	})
}

func (p *tap) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") != "" {
		p.socket(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	status, answer, err := p.pass(w, r, body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	if !strings.HasPrefix(r.URL.Path, "/place/") {
		return // how the test gets ready
	}
	p.note("client", strings.TrimSpace(fmt.Sprintf("%s %s\n%s", r.Method, r.URL.RequestURI(), body)))
	p.note("server", fmt.Sprintf("%d %s\n%s", status, http.StatusText(status), answer))
}

// pass hands a request on as it came: a proof names the address that was called.
func (p *tap) pass(w http.ResponseWriter, r *http.Request, body []byte) (int, []byte, error) {
	out, err := http.NewRequestWithContext(r.Context(), r.Method, "http://"+p.behind+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	out.Header, out.Host = r.Header, r.Host
	answer, err := p.http.Do(out)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, nil, err
	}
	w.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
	w.WriteHeader(answer.StatusCode)
	_, err = w.Write(text)
	return answer.StatusCode, bytes.TrimSpace(text), err
}

func (p *tap) socket(w http.ResponseWriter, r *http.Request) {
	var protocols []string
	for name := range strings.SplitSeq(r.Header.Get("Sec-Websocket-Protocol"), ",") {
		if name = strings.TrimSpace(name); name != "" {
			protocols = append(protocols, name)
		}
	}
	header := http.Header{}
	for _, name := range []string{"Authorization", "Cookie", "Origin"} {
		if value := r.Header.Get(name); value != "" {
			header.Set(name, value)
		}
	}
	there, _, err := websocket.Dial(r.Context(), "ws://"+p.behind+r.URL.RequestURI(), &websocket.DialOptions{HTTPHeader: header, Host: r.Host, Subprotocols: protocols})
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer func() { _ = there.CloseNow() }()
	here, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: protocols, InsecureSkipVerify: true})
	if err != nil {
		return
	}
	defer func() { _ = here.CloseNow() }()
	var both sync.WaitGroup
	both.Go(func() { p.pump("client", here, there) })
	both.Go(func() { p.pump("server", there, here) })
	both.Wait()
}

// pump carries frames one way until either end is gone.
func (p *tap) pump(from string, source, target *websocket.Conn) {
	source.SetReadLimit(-1)
	for {
		kind, frame, err := source.Read(p.t.Context())
		if err != nil {
			_ = target.Close(websocket.CloseStatus(err), "")
			return
		}
		p.note(from, p.text(from, frame))
		if target.Write(p.t.Context(), kind, frame) != nil {
			_ = source.CloseNow()
			return
		}
	}
}

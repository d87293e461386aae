package mcpclient

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"parley.internal/internal/egress"
	"parley.internal/internal/sandbox"
)

// goodbye is how long a program has to end by itself once its input is closed,
// and once more after it is asked to.
const goodbye = time.Second

// link is a way to a server and what must be done to be rid of it.
type link struct {
	transport mcp.Transport
	kill      func()
	said      func() string
}

// dial prepares a link; nothing is started before the transport connects.
func dial(s Server, o *Options, workspace string) (link, error) {
	if s.URL != "" {
		return httpLink(s), nil
	}
	return commandLink(s, o, workspace)
}

// commandLink runs the server's program in a box with the workspace of its user. Nobody is
// asked about hosts: it serves many calls, and none of them is there when it starts.
func commandLink(s Server, o *Options, workspace string) (link, error) {
	exit := egress.New(egress.Options{Guard: o.Guard, Hosts: slices.Concat(s.Hosts, o.Hosts)})
	p := sandbox.Program{Path: s.Command, Args: s.Args, Dir: workspace, Env: s.Env, Exit: exit, Leaves: len(s.Hosts) > 0}
	if workspace != "" {
		p.Folders = []string{workspace}
	}
	run, err := o.Sandbox.Prepare(p)
	if err != nil {
		return link{}, err
	}
	errs := &sandbox.Tail{}
	run.Cmd.Stderr = errs
	run.Cmd.WaitDelay = goodbye // something it started may hold its output
	return link{
		transport: &mcp.CommandTransport{Command: run.Cmd, TerminateDuration: goodbye},
		kill:      func() { run.Kill(); run.Close() },
		said:      errs.String,
	}, nil
}

func httpLink(s Server) link {
	wires := &wires{}
	base := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         wires.dial,
		TLSHandshakeTimeout: 10 * time.Second,
		ForceAttemptHTTP2:   true,
	}
	client := &http.Client{
		Transport: bearer{token: s.Bearer, next: base},
		// the token is for this host alone
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return link{
		transport: &mcp.StreamableClientTransport{Endpoint: s.URL, HTTPClient: client, DisableStandaloneSSE: true, MaxRetries: -1},
		kill:      func() { wires.cut(); base.CloseIdleConnections() },
		said:      func() string { return "" },
	}
}

// wires remembers open connections, so that a hanging server cannot hold us.
type wires struct {
	mu   sync.Mutex
	open map[net.Conn]bool
	dead bool
}

func (w *wires) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead {
		_ = c.Close()
		return nil, net.ErrClosed
	}
	if w.open == nil {
		w.open = map[net.Conn]bool{}
	}
	t := &wire{Conn: c, wires: w}
	w.open[t] = true
	return t, nil
}

func (w *wires) cut() {
	w.mu.Lock()
	w.dead = true
	open := w.open
	w.open = nil
	w.mu.Unlock()
	for c := range open {
		_ = c.Close()
	}
}

type wire struct {
	net.Conn
	wires *wires
}

func (t *wire) Close() error {
	t.wires.mu.Lock()
	delete(t.wires.open, net.Conn(t))
	t.wires.mu.Unlock()
	return t.Conn.Close()
}

// bearer adds the token to each request.
type bearer struct {
	token string
	next  http.RoundTripper
}

func (b bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	if b.token != "" {
		req = req.Clone(req.Context())
		req.Header.Set("Authorization", "Bearer "+b.token)
	}
	return b.next.RoundTrip(req)
}

package egress

import (
	"context"
	"crypto/subtle"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"parley.internal/internal/publicnet"
)

// Options say where a program may go.
type Options struct {
	// Guard connects, and refuses what is not public.
	Guard publicnet.Guard
	// Hosts need no question: names, or *.name for all below one.
	Hosts []string
	// Permit asks about another host; nil says no to all of them.
	Permit func(ctx context.Context, host string) error
}

// Exit is one program's way out. It is safe for concurrent use.
type Exit struct {
	o      Options
	server *http.Server
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	open   sync.WaitGroup // connections that the server has given away

	mu       sync.Mutex
	closed   bool
	password string
	asked    map[string]*answer
	asking   int
}

// headerTime is how long a program may take to say where it wants to go.
const headerTime = 30 * time.Second

// New makes a way out. It has to be closed.
func New(o Options) *Exit {
	e := &Exit{o: o, asked: map[string]*answer{}}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	plain := e.plain()
	e.server = &http.Server{
		ReadHeaderTimeout: headerTime, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return e.ctx },
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case !e.knows(r):
				w.Header().Set("Proxy-Authenticate", `Basic realm="box"`)
				refuse(w, http.StatusProxyAuthRequired, "this is another program's way out")
			case r.Method == http.MethodConnect:
				e.tunnel(w, r)
			default:
				plain.ServeHTTP(w, r)
			}
		}),
	}
	return e
}

// Serve takes connections until Close. Where there is a password, whoever knows it is the program.
func (e *Exit) Serve(l net.Listener, password string) {
	e.mu.Lock()
	e.password = password
	e.mu.Unlock()
	_ = e.server.Serve(l) // it ends with Close
}

// Close ends everything that goes on, and waits for it.
func (e *Exit) Close() {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.cancel()
	_ = e.server.Close()
	e.open.Wait()
}

// begin counts a connection, unless the exit is closed.
func (e *Exit) begin() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return false
	}
	e.open.Add(1)
	return true
}

// knows tells whether a request comes from the program.
func (e *Exit) knows(r *http.Request) bool {
	e.mu.Lock()
	want := e.password
	e.mu.Unlock()
	if want == "" {
		return true // nobody else gets here
	}
	asBasic := &http.Request{Header: http.Header{"Authorization": r.Header.Values("Proxy-Authorization")}}
	_, got, _ := asBasic.BasicAuth()
	return subtle.ConstantTimeCompare([]byte(got), []byte(want)) == 1
}

// refuse says no in words that a program shows.
func refuse(w http.ResponseWriter, status int, why string) {
	http.Error(w, "parley: "+why, status)
}

// plainName is a host as it is compared and shown.
func plainName(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"parley.internal/internal/brain/tool"
	"parley.internal/internal/publicnet"
	"parley.internal/internal/sandbox"
)

// The usual times.
const (
	DefaultIdle    = 10 * time.Minute
	DefaultConnect = 30 * time.Second
	// DefaultPatience is how long the first turn that wants a server waits for it. A start
	// that takes longer goes on without it.
	DefaultPatience = 5 * time.Second
)

// Options of a pool; all may be zero.
type Options struct {
	Log     *slog.Logger
	Version string        // told to servers
	Idle    time.Duration // 0 = DefaultIdle
	Connect time.Duration // 0 = DefaultConnect
	// Patience is how long Tools waits for a server's first start.
	Patience time.Duration // 0 = DefaultPatience

	// Sandbox runs commands, nil without boxes.
	Sandbox *sandbox.Sandbox
	// Guard connects commands to the hosts they may reach: their own, and Hosts.
	Guard publicnet.Guard
	Hosts []string

	dial func(s Server, u User) (link, error) // replaced in tests
}

// User is who uses a server: an agent, in the folder that it works in for somebody. The
// server runs there and may write it, so no two users share one.
type User struct {
	Agent, Workspace string
}

// Pool owns the clients of all agents. It is safe for concurrent use.
type Pool struct {
	opts Options
	wg   sync.WaitGroup // every goroutine of every client

	mu      sync.Mutex
	closed  bool
	servers []*server
}

// server is a configured server with its clients, one per user.
type server struct {
	Server
	pool *Pool

	// guarded by the pool's mutex
	clients map[User]*client
	tools   []*mcp.Tool // as last listed; nil before the first time
	failure string
	trouble trouble
}

// New makes an empty pool.
func New(o Options) *Pool {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Idle == 0 {
		o.Idle = DefaultIdle
	}
	if o.Connect == 0 {
		o.Connect = DefaultConnect
	}
	if o.Patience == 0 {
		o.Patience = DefaultPatience
	}
	if o.Sandbox == nil {
		o.Sandbox = sandbox.New(sandbox.Options{Environ: os.Environ()})
	}
	if o.dial == nil {
		o.dial = func(s Server, u User) (link, error) { return dial(s, &o, u.Workspace) }
	}
	return &Pool{opts: o}
}

// Set replaces the list of servers. Clients of servers that changed or went are
// stopped; the others go on undisturbed.
func (p *Pool) Set(list []Server) error {
	names := map[string]bool{}
	for _, s := range list {
		if err := s.check(); err != nil {
			return err
		}
		if names[s.Name] {
			return fmt.Errorf("%w: two are named %s", ErrServers, s.Name)
		}
		names[s.Name] = true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return ErrClosed
	}
	old := p.servers
	p.servers = nil
	for _, s := range list {
		p.servers = append(p.servers, p.keep(&old, s))
	}
	for _, s := range old {
		s.retire()
	}
	return nil
}

// keep takes the unchanged server out of old, or makes a new one.
func (p *Pool) keep(old *[]*server, s Server) *server {
	for i, o := range *old {
		if o.equal(s) {
			*old = slices.Delete(*old, i, i+1)
			return o
		}
	}
	return &server{Server: s, pool: p, clients: map[User]*client{}}
}

// retire stops all clients, without waiting. The pool's mutex is held.
func (s *server) retire() {
	for _, c := range s.clients {
		s.pool.wg.Go(c.close)
	}
	s.clients = nil
}

// Close stops everything and waits until every program is gone.
func (p *Pool) Close() {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		for _, s := range p.servers {
			s.retire()
		}
	}
	p.mu.Unlock()
	p.wg.Wait()
}

// Servers is the configured list with secrets masked.
func (p *Pool) Servers() []Server {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]Server, len(p.servers))
	for i, s := range p.servers {
		out[i] = s.Redacted()
	}
	return out
}

// Secrets is what of all servers must not be shown.
func (p *Pool) Secrets() (values []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.servers {
		values = append(values, s.secrets()...)
	}
	return values
}

// Status tells how each server is doing, in configured order.
func (p *Pool) Status() []Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]Status, len(p.servers))
	for i, s := range p.servers {
		out[i] = Status{Name: s.Name, State: Disconnected, Tools: len(s.tools)}
		if s.failure != "" {
			out[i].State, out[i].Error = Failed, s.failure
		}
		for _, c := range s.clients {
			if c.connected() {
				out[i].State, out[i].Error = Connected, ""
			}
		}
	}
	return out
}

// Tools returns the tools a user may use of the named servers ("*" = all). A
// server that has never been listed is started for it. The error tells which
// servers could not be used; the tools of the others are there all the same.
func (p *Pool) Tools(ctx context.Context, u User, names []string) ([]*tool.Tool, error) {
	p.mu.Lock()
	closed := p.closed
	list := slices.Clone(p.servers)
	p.mu.Unlock()
	if closed {
		return nil, ErrClosed
	}
	list = slices.DeleteFunc(list, func(s *server) bool {
		return s.Disabled || (!slices.Contains(names, s.Name) && !slices.Contains(names, "*"))
	})
	found := make([][]*mcp.Tool, len(list))
	errs := make([]error, len(list))
	var wg sync.WaitGroup
	for i, s := range list {
		wg.Go(func() { found[i], errs[i] = s.list(ctx, u) })
	}
	wg.Wait()
	var out []*tool.Tool
	for i, s := range list {
		for _, t := range found[i] {
			out = append(out, s.tool(u, t))
		}
	}
	return out, errors.Join(errs...)
}

// list gives the known tools. A server that nobody has tried yet is started and waited
// for, for a while; one that failed, or takes longer, costs no turn anything any more.
func (s *server) list(ctx context.Context, u User) ([]*mcp.Tool, error) {
	s.pool.mu.Lock()
	known, state, failure := s.tools, s.trouble.now(), s.failure
	s.pool.mu.Unlock()
	var err error
	switch {
	case known != nil:
		return known, nil
	case state == resting:
		err = fmt.Errorf("%s (it is tried again later)", failure)
	case state == late:
		err = errStarting
	case state == tryAgain:
		s.startBehind(u)
		err = fmt.Errorf("%w (last time: %s)", errStarting, failure)
	default:
		err = s.await(ctx, u)
	}
	if err != nil {
		return nil, fmt.Errorf("MCP server %s: %w", s.Name, err)
	}
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	return s.tools, nil
}

func nothing(*mcp.ClientSession) error { return nil }

// await starts the server and waits as long as a turn may. The start itself goes on.
func (s *server) await(ctx context.Context, u User) error {
	wait, cancel := context.WithTimeoutCause(ctx, s.pool.opts.Patience, errStarting)
	defer cancel()
	err := s.use(wait, u, nothing)
	if err != nil && ctx.Err() == nil && wait.Err() != nil {
		s.pool.mu.Lock()
		defer s.pool.mu.Unlock()
		s.trouble.late = s.tools == nil && s.failure == ""
		return errStarting
	}
	return err
}

// startBehind starts the server without waiting for it.
func (s *server) startBehind(u User) {
	s.pool.mu.Lock()
	s.trouble.late = true // until the start is over
	s.pool.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = s.use(ctx, u, nothing)
}

// Awaited names the servers that a call of Tools would wait for.
func (p *Pool) Awaited(names []string) (list []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.servers {
		if !s.Disabled && s.tools == nil && s.trouble.now() == untried && (slices.Contains(names, s.Name) || slices.Contains(names, "*")) {
			list = append(list, s.Name)
		}
	}
	return list
}

// use runs fn with the user's session, starting it if need be.
func (s *server) use(ctx context.Context, u User, fn func(*mcp.ClientSession) error) error {
	s.pool.mu.Lock()
	if s.pool.closed {
		s.pool.mu.Unlock()
		return ErrClosed
	}
	if s.clients == nil {
		s.pool.mu.Unlock()
		return errRemoved
	}
	c := s.clients[u]
	if c == nil {
		c = &client{server: s, user: u}
		s.clients[u] = c
	}
	s.pool.mu.Unlock()
	return c.use(ctx, fn)
}

// learned remembers the outcome of a start.
func (s *server) learned(tools []*mcp.Tool, err error) {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	s.failure = ""
	if err != nil {
		s.failure = s.scrub(err.Error())
		s.trouble.failed()
		return
	}
	s.trouble = trouble{}
	s.tools = tools
}

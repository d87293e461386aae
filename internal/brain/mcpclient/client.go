package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxTools bounds what one server can put into a prompt.
const maxTools = 256

// client is one user's connection to one server. The connection comes and goes;
// the client stays.
type client struct {
	server *server
	user   User

	mu     sync.Mutex
	conn   *conn // nil while not started
	busy   int
	idle   *time.Timer
	closed bool
}

// conn is one life of a connection.
type conn struct {
	ready   chan struct{} // closed when session or err is set
	session *mcp.ClientSession
	err     error
	link    link
	gone    chan struct{} // closed when everything is cleaned up
	drop    context.CancelFunc
}

// use runs fn with a live session. A failure that is not the server's answer but
// the end of the connection makes the next use start anew.
func (c *client) use(ctx context.Context, fn func(*mcp.ClientSession) error) error {
	k, err := c.acquire()
	if err != nil {
		return err
	}
	defer c.release()
	select {
	case <-k.ready:
	case <-ctx.Done():
		return ctx.Err()
	}
	if k.err != nil {
		return k.err
	}
	err = fn(k.session)
	var answer *jsonrpc.Error
	if err == nil || ctx.Err() != nil || errors.As(err, &answer) {
		return err
	}
	c.lose(k)
	c.server.learned(nil, c.explain(k, "it stopped during a call", err))
	return fmt.Errorf("%w during the call: %w", errStopped, err)
}

// acquire takes the connection, starting one if there is none.
func (c *client) acquire() (*conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errRemoved
	}
	if c.conn == nil {
		ctx, drop := context.WithCancel(context.Background())
		k := &conn{ready: make(chan struct{}), gone: make(chan struct{}), drop: drop}
		c.conn = k
		c.server.pool.wg.Go(func() { c.live(ctx, k) })
	}
	c.busy++
	if c.idle != nil {
		c.idle.Stop()
	}
	return c.conn, nil
}

// release starts the idle clock when the last user is done.
func (c *client) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy--; c.busy > 0 || c.closed || c.conn == nil {
		return
	}
	k := c.conn
	c.idle = time.AfterFunc(c.server.pool.opts.Idle, func() { c.expire(k) })
}

func (c *client) expire(k *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy == 0 && c.conn == k {
		c.conn = nil
		k.drop()
	}
}

// connected reports a session that is up now.
func (c *client) connected() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == nil {
		return false
	}
	select {
	case <-c.conn.ready:
		return c.conn.err == nil
	default:
		return false
	}
}

// lose forgets a connection that broke.
func (c *client) lose(k *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == k {
		c.conn = nil
	}
	k.drop()
}

// close stops the client for good and waits until its program is gone.
func (c *client) close() {
	c.mu.Lock()
	c.closed = true
	k := c.conn
	c.conn = nil
	if c.idle != nil {
		c.idle.Stop()
	}
	c.mu.Unlock()
	if k != nil {
		k.drop()
		<-k.gone
	}
}

// live is the whole life of a connection: start, wait for its end, clean up.
func (c *client) live(ctx context.Context, k *conn) {
	defer close(k.gone)
	defer k.drop()
	tools, err := c.start(ctx, k)
	if ctx.Err() == nil {
		c.server.learned(tools, err)
	}
	k.err = err
	close(k.ready)
	if err != nil {
		c.lose(k)
		c.server.pool.opts.Log.Warn("mcp server failed to start", "server", c.server.Name, "error", c.server.scrub(err.Error()))
		return
	}
	ended := make(chan struct{})
	go func() {
		_ = k.session.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		c.lose(k)
		c.server.pool.opts.Log.Info("mcp server stopped by itself", "server", c.server.Name)
	case <-ctx.Done():
	}
	k.end()
	<-ended
}

// end closes the session politely; one that hangs, in a call or at the other
// side, is cut off.
func (k *conn) end() {
	closed := make(chan struct{})
	go func() {
		_ = k.session.Close()
		close(closed)
	}()
	timer := time.NewTimer(3 * goodbye)
	defer timer.Stop()
	select {
	case <-closed:
	case <-timer.C:
	}
	k.link.kill()
	<-closed
}

// start connects, says hello and lists the tools.
func (c *client) start(ctx context.Context, k *conn) ([]*mcp.Tool, error) {
	ctx, cancel := context.WithTimeout(ctx, c.server.pool.opts.Connect)
	defer cancel()
	var err error
	if k.link, err = c.server.pool.opts.dial(c.server.Server, c.user); err != nil {
		return nil, err
	}
	impl := &mcp.Implementation{Name: "parley", Version: c.server.pool.opts.Version}
	sdk := mcp.NewClient(impl, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	if k.session, err = sdk.Connect(ctx, k.link.transport, nil); err != nil {
		k.link.kill()
		return nil, c.explain(k, "it could not be started", err)
	}
	tools, err := listTools(ctx, k.session)
	if err != nil {
		k.end()
		return nil, c.explain(k, "its tools could not be listed", err)
	}
	return tools, nil
}

// explain adds what the program said itself.
func (c *client) explain(k *conn, what string, err error) error {
	text := fmt.Sprintf("%s: %v", what, err)
	if said := k.link.said(); said != "" {
		text += "; it said: " + said
	}
	return errors.New(c.server.scrub(text))
}

func listTools(ctx context.Context, session *mcp.ClientSession) ([]*mcp.Tool, error) {
	tools := []*mcp.Tool{}
	for t, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		if tools = append(tools, t); len(tools) == maxTools {
			break
		}
	}
	return tools, nil
}

package mcpbridge

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// Bridge carries messages to one path of a hub. Its fields are set before Run.
type Bridge struct {
	Endpoint string
	Token    string
	// Client may not have a time limit for whole requests: calls wait for people.
	Client *http.Client

	link string

	write sync.Mutex
	out   io.Writer

	renew sync.Mutex // held while a new session is begun

	mu       sync.Mutex
	session  string
	revision string // that of the session
	opening  []byte // the client's initialize, to begin again
	running  map[string]context.CancelFunc
	work     sync.WaitGroup
}

const (
	// maxLine is what the hub takes, and some.
	maxLine = 8 << 20
	// lastAnswers is how long requests may go on after the input has ended.
	lastAnswers = 30 * time.Second
	// renewals is how often a new session is tried for.
	renewals = 3
	// goodbye is for telling the hub that the client is gone.
	goodbye = 3 * time.Second
)

// Run carries until the input ends.
func (b *Bridge) Run(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b.link, b.out, b.running = rand.Text()+rand.Text(), out, map[string]context.CancelFunc{}
	err := b.lines(ctx, in)
	b.finish(cancel)
	b.leave()
	return err
}

// lines takes message after message.
func (b *Bridge) lines(ctx context.Context, in io.Reader) error {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(make([]byte, 64<<10), maxLine)
	for scanner.Scan() {
		if line := bytes.TrimSpace(scanner.Bytes()); len(line) > 0 {
			b.forward(ctx, bytes.Clone(line))
		}
	}
	if errors.Is(scanner.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("a message is longer than %d bytes", maxLine)
	}
	return scanner.Err()
}

// forward brings one message on its way. Requests run side by side; everything else,
// and what begins a session, keeps its order.
func (b *Bridge) forward(ctx context.Context, line []byte) {
	m, err := read(line)
	switch {
	case err != nil:
		b.say([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"this is not a JSON-RPC message"}}`))
	case m.Method == "initialize":
		b.mu.Lock()
		b.session, b.revision, b.opening = "", "", line
		b.mu.Unlock()
		b.request(ctx, m)
	case m.Method == "notifications/cancelled" && b.cancelAlone(m):
	case m.isRequest():
		ctx := b.begin(ctx, m)
		b.work.Go(func() {
			defer b.end(m)
			b.request(ctx, m)
		})
	default:
		_, _ = b.post(ctx, m) // nobody waits for an answer
	}
}

func (b *Bridge) begin(ctx context.Context, m message) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running[string(m.ID)] = cancel
	return ctx
}

func (b *Bridge) end(m message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if cancel := b.running[string(m.ID)]; cancel != nil {
		cancel()
		delete(b.running, string(m.ID))
	}
}

// cancelAlone ends a request that stands alone by leaving it, as its revision has
// it; in a session the hub is told.
func (b *Bridge) cancelAlone(m message) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	cancel := b.running[string(m.Params.RequestID)]
	if b.session != "" || cancel == nil {
		return false
	}
	cancel()
	return true
}

// request posts and sees to it that there is an answer.
func (b *Bridge) request(ctx context.Context, m message) {
	answered, err := b.post(ctx, m)
	if gone, ok := errors.AsType[*forgottenError](err); ok && b.again(ctx, gone.session) {
		answered, err = b.post(ctx, m)
	}
	if answered || errors.Is(ctx.Err(), context.Canceled) {
		return
	}
	if err == nil {
		err = errors.New("the hub ended the answer early")
	}
	b.say(failure(m, err.Error()))
}

// again begins a new session where the hub has forgotten the old one (it was
// restarted, or idle for long). What was selected in it is gone. Of several
// requests that find out at once, one does it.
func (b *Bridge) again(ctx context.Context, old string) bool {
	b.renew.Lock()
	defer b.renew.Unlock()
	b.mu.Lock()
	opening, session := b.opening, b.session
	if session == old {
		b.session = ""
	}
	b.mu.Unlock()
	if session != old && session != "" {
		return true
	}
	hello, err := read(opening)
	if err != nil {
		return false
	}
	ready, _ := read([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	// A hub that has just come back may still be closing old connections.
	for range renewals {
		if _, err = b.exchange(ctx, hello, func([]byte) {}); err == nil {
			_, err = b.post(ctx, ready)
		}
		if err == nil {
			return true
		}
	}
	return false
}

// say writes one message as one line.
func (b *Bridge) say(raw []byte) {
	var line bytes.Buffer
	if json.Compact(&line, raw) != nil {
		return
	}
	line.WriteByte('\n')
	b.write.Lock()
	defer b.write.Unlock()
	_, _ = b.out.Write(line.Bytes()) // a client that is gone is noticed at its input
}

// finish lets what runs end, for a while.
func (b *Bridge) finish(cancel context.CancelFunc) {
	done := make(chan struct{})
	go func() {
		b.work.Wait()
		close(done)
	}()
	timer := time.AfterFunc(lastAnswers, cancel)
	<-done
	timer.Stop()
}

// leave tells the hub that the session and the bridge are over.
func (b *Bridge) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	b.mu.Lock()
	session := b.session
	b.mu.Unlock()
	for _, id := range []string{session, ""} {
		req, err := http.NewRequestWithContext(ctx, http.MethodDelete, b.Endpoint, http.NoBody)
		if err != nil {
			return
		}
		b.identify(req)
		if id != "" {
			req.Header.Set("Mcp-Session-Id", id)
		}
		if res, err := b.Client.Do(req); err == nil {
			_ = res.Body.Close()
		}
		if id == "" {
			break
		}
	}
}

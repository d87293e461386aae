//go:build linux

package growth_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"

	"parley.internal/client/agentfirst"
	"parley.internal/client/viber"
	wire "parley.internal/protocol/kenny"
	"parley.internal/test/hubtest"
	"parley.internal/test/pgtest"
)

// machines are the two that the hub here has; operator is the agent that may use them,
// shared has the shell, writer writes files, and boss has the operator do things.
var machines = []string{"pc", "lab"}

const operator, shared, writer, boss = "operator", "shared", "writer", "boss"

// settings has rules that bind in every mode and by every way: two people must agree, and
// somebody else than whoever asked must.
const settings = `policy:
  approvals:
    - tools: [file_write]
      quorum: 2
    - tools: [powershell_exec]
      not_asker: true
`

// world is the hub that all sequences happen on.
type world struct {
	*hubtest.Hub
	t    *testing.T
	root *credential // owner.token
	n    int         // numbers that were given out
	// artifact is where a task of the owner left a file, and what path it has in the owner's folder.
	artifact, artifactPath string
	// let counts how often each probe got what it may have, and kept how often it was refused.
	let, kept map[string]int

	mu  sync.Mutex
	ran map[string]bool // words of scripts that ran on a machine
}

func newWorld(t *testing.T) *world {
	t.Helper()
	data := filepath.Join(pgtest.Folder(t), "data")
	if err := errors.Join(os.MkdirAll(data, 0o700), os.WriteFile(filepath.Join(data, "parley.yaml"), []byte(settings), 0o600)); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, Hub: hubtest.Start(t, hubtest.Config{Data: data}), let: map[string]int{}, kept: map[string]int{}, ran: map[string]bool{}}
	for _, id := range machines {
		m := hubtest.Enrol(t, w.Hub, id, func(_ context.Context, r *wire.Request) (jsontext.Value, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.ran[string(r.Args)] = true
			return jsontext.Value(`{"stdout":"","stderr":"","exit_code":0}`), nil
		})
		m.Connect(t, w.Hub)
		go drain(t, m)
	}
	for name, tools := range map[string]string{operator: "machines", shared: "shell", writer: "files"} {
		w.must(w.Do("POST", "/api/agents", `{"name":"`+name+`","description":"d","prompt":"p","tools":["`+tools+`"]}`))
	}
	w.must(w.Do("POST", "/api/agents", `{"name":"`+boss+`","description":"d","prompt":"p","tools":["delegate"],"members":["`+operator+`"]}`))
	w.root = &credential{kind: "token", secret: w.Owner, scopes: expand("admin"), person: &person{name: "owner", sender: "user", owner: true}}
	var list struct {
		Tokens []struct {
			ID        string
			Kind      string
			Principal struct{ ID string }
		}
	}
	w.read(w.Do("GET", "/api/tokens", ""), &list)
	w.root.id, w.root.person.id = list.Tokens[0].ID, list.Tokens[0].Principal.ID
	w.leaveArtifact()
	return w
}

// drain forgets what a machine was asked; what it did is remembered elsewhere.
func drain(t *testing.T, m *hubtest.Machine) {
	for {
		select {
		case <-m.Asked:
		case <-t.Context().Done():
			return
		}
	}
}

// did reports whether a script with this word ran on a machine.
func (w *world) did(word string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for args := range w.ran {
		if strings.Contains(args, word) {
			return true
		}
	}
	return false
}

func (w *world) next() int { w.n++; return w.n }

// must is for what the test itself needs.
func (w *world) must(a hubtest.Answer) hubtest.Answer {
	w.t.Helper()
	if a.Status > 299 || a.Err != nil {
		w.t.Fatalf("the owner was refused: %d %s %v", a.Status, a.Body, a.Err)
	}
	return a
}

func (w *world) read(a hubtest.Answer, into any) {
	w.t.Helper()
	if err := json.Unmarshal(w.must(a).Body, into); err != nil {
		w.t.Fatalf("%v: %s", err, a.Body)
	}
}

// run is one sequence: its people, what they have and what they did.
type run struct {
	*world
	t *rapid.T
	// there are the credentials, dead ones included, but for the owner's.
	there   []*credential
	people  []*person
	said    []*said
	handed  []*handed
	rooms   []*roomOf
	plans   []*plan
	tries   []*try
	cleanup []func()
	// unasking says that somebody who may has made the shared agent ask nobody who need not be asked.
	unasking bool
}

// client comes from a network of its own, so that the wrong tokens it may bring lock
// out nobody else: on Linux all of 127.0.0.0/8 is this machine.
func (r *run) client() *http.Client {
	n := r.next()
	from := &net.TCPAddr{IP: net.IPv4(127, byte(1+n>>16), byte(n>>8), byte(n))}
	transport := &http.Transport{DialContext: (&net.Dialer{LocalAddr: from}).DialContext, DisableKeepAlives: true}
	r.cleanup = append(r.cleanup, transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: hubtest.Patience}
}

// answer is what the hub said to a request.
type answer struct {
	status int
	body   []byte
	cookie string
}

// in reports whether a request got through to what it asked for; whether it then made
// sense is another matter.
func (a answer) in() bool {
	return a.status/100 == 2 || a.status == http.StatusBadRequest || a.status == 422
}

func (r *run) rest(c *credential, method, path string, body any) answer {
	var text io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		r.check(err)
		text = strings.NewReader(string(raw))
	}
	req, err := http.NewRequestWithContext(r.world.t.Context(), method, r.URL+path, text)
	r.check(err)
	req.Header.Set("Content-Type", "application/json")
	if c != nil {
		c.sign(req)
		if c.cookie != "" {
			req.Header.Set("Origin", r.URL)
		}
	}
	res, err := r.client().Do(req)
	r.check(err)
	defer func() { _ = res.Body.Close() }()
	out := answer{status: res.StatusCode}
	out.body, _ = io.ReadAll(io.LimitReader(res.Body, 1<<20))
	for _, cookie := range res.Cookies() {
		out.cookie = cookie.Name + "=" + cookie.Value
	}
	return out
}

// sign puts the credential on a request.
func (c *credential) sign(req *http.Request) {
	if c.cookie != "" {
		req.Header.Set("Cookie", c.cookie)
		req.Header.Set("X-Parley-CSRF", c.csrf)
		return
	}
	req.Header.Set("Authorization", "Bearer "+c.secret)
}

func (r *run) check(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *run) decode(a answer, into any) {
	r.t.Helper()
	if err := json.Unmarshal(a.body, into); err != nil {
		r.t.Fatalf("%v: %d %s", err, a.status, a.body)
	}
}

// ctx bounds one exchange; only something broken reaches its end.
func (r *run) ctx() (context.Context, context.CancelFunc) {
	return context.WithTimeout(r.world.t.Context(), hubtest.Patience)
}

// talk is a connection of the conversations' protocol; nil when the hub will not have it.
func (r *run) talk(c *credential) *agentfirst.Client {
	ctx, cancel := r.ctx()
	defer cancel()
	client, err := agentfirst.Dial(ctx, strings.Replace(r.URL, "http", "ws", 1)+"/talk/ws", agentfirst.Options{Token: c.secret, HTTPClient: r.client()})
	if err != nil {
		return nil
	}
	r.cleanup = append(r.cleanup, func() { _ = client.Close() })
	return client
}

// board is a connection of the board's protocol; nil when the hub will not have it.
func (r *run) board(opts viber.Options) *viber.Client {
	ctx, cancel := r.ctx()
	defer cancel()
	opts.HTTPClient, opts.RetryMin, opts.RetryMax = r.client(), 10*time.Millisecond, 50*time.Millisecond
	client, err := viber.Dial(ctx, strings.Replace(r.URL, "http", "ws", 1)+"/ws", opts)
	if err != nil {
		return nil
	}
	r.cleanup = append(r.cleanup, func() { _ = client.Close() })
	return client
}

// mcp calls a tool and gives what it said; refusals are errors.
func (r *run) mcp(ctx context.Context, c *credential, tool string, args map[string]any) (string, error) {
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(ctx, &sdk.StreamableClientTransport{
		Endpoint: r.URL + "/mcp", HTTPClient: &http.Client{Transport: signed{r.client().Transport, c}}, DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		return "", err
	}
	defer func() { _ = session.Close() }()
	res, err := session.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return "", err
	}
	raw, err := json.Marshal(res)
	if err == nil && res.IsError {
		err = fmt.Errorf("refused: %s", raw)
	}
	return string(raw), err
}

type signed struct {
	http.RoundTripper
	c *credential
}

func (s signed) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	s.c.sign(req)
	return s.RoundTripper.RoundTrip(req)
}

// eventually polls until ok, which something broken never gets.
func (r *run) eventually(what string, ok func() bool) {
	r.t.Helper()
	for deadline := time.Now().Add(hubtest.Patience); !ok(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Fatalf("it never happened: %s", what)
		}
	}
}

package hubtest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"parley.internal/client/hubapi"
	"parley.internal/test/pgtest"
)

// Patience bounds every wait; only something broken reaches it.
const Patience = 3 * time.Minute

// Visits lets a hub visit places on this machine: by itself it goes nowhere inside.
const Visits = "PARLEY_NET_ALLOW_PRIVATE=127.0.0.0/8"

// Config says how a hub is started.
type Config struct {
	// Command is how the program is told to be a hub: serve, unless it says up.
	Command string
	// Args follow `parley serve --data DIR --listen 127.0.0.1:0`.
	Args []string
	// Env is added to the environment.
	Env []string
	// Data is the data folder; empty makes one.
	Data string
	// Wrap, if set, changes how the process is started, for instance in a namespace of its own.
	Wrap func(*exec.Cmd)
	// Root is prepended to Data when the test itself looks there (/proc/PID/root).
	Root func(pid int) string
}

// Hub is one hub process. Its methods fail the test on error and are called from the test's goroutine, except Do
// and Client.
type Hub struct {
	t      testing.TB
	conf   Config
	http   *http.Client
	Output *Output

	URL, Owner string
	PID        int
	cmd        *exec.Cmd
	exited     chan struct{}
}

// Start runs a hub and waits until it is ready.
func Start(t testing.TB, conf Config) *Hub {
	t.Helper()
	h := New(t, conf)
	h.Restart()
	return h
}

// New prepares a hub that does not run yet.
func New(t testing.TB, conf Config) *Hub {
	t.Helper()
	if conf.Data == "" {
		conf.Data = filepath.Join(pgtest.Folder(t), "data")
	}
	h := &Hub{t: t, conf: conf, Output: &Output{}, http: &http.Client{Timeout: Patience, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	t.Cleanup(func() {
		if t.Failed() && h.cmd != nil {
			h.quit()
		}
		h.Kill9()
		h.http.CloseIdleConnections()
		if t.Failed() {
			t.Logf("the hub on %s said:\n%s", conf.Data, h.Output)
		}
	})
	return h
}

// Command is the program with arguments, in a clean environment.
func Command(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(Program(t), args...)
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "PARLEY_") {
			cmd.Env = append(cmd.Env, pair)
		}
	}
	cmd.SysProcAttr = dieWithParent()
	return cmd
}

// Restart starts the hub, on the data it had, and waits until it is ready.
func (h *Hub) Restart() {
	h.t.Helper()
	h.Launch()
	deadline := time.Now().Add(Patience)
	for !h.note() || h.Do("GET", "/readyz", "").Status != http.StatusOK {
		select {
		case <-h.exited:
			h.t.Fatalf("the hub ended: %s\n%s", h.cmd.ProcessState, h.Output)
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			h.t.Fatalf("the hub did not get ready\n%s", h.Output)
		}
	}
}

// Launch starts the process without waiting for it to be ready.
func (h *Hub) Launch() {
	h.t.Helper()
	args := append([]string{cmp.Or(h.conf.Command, "serve"), "--data", h.conf.Data, "--listen", "127.0.0.1:0", "--log-format", "text"}, h.conf.Args...)
	h.cmd = Command(h.t, args...)
	h.cmd.Env = append(h.cmd.Env, h.conf.Env...)
	h.cmd.Stdout, h.cmd.Stderr = h.Output, h.Output
	if h.conf.Wrap != nil {
		h.conf.Wrap(h.cmd)
	}
	if err := h.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.PID = h.cmd.Process.Pid
	h.URL, h.exited = "", make(chan struct{})
	go func(cmd *exec.Cmd, exited chan struct{}) {
		_ = cmd.Wait()
		close(exited)
	}(h.cmd, h.exited)
}

// Path is a file of the data folder as the test sees it.
func (h *Hub) Path(name string) string {
	data := h.conf.Data
	if h.conf.Root != nil {
		data = h.conf.Root(h.PID) + data
	}
	return filepath.Join(data, name)
}

// note reads where the hub says it is. A note of an earlier life does not count.
func (h *Hub) note() bool {
	var running struct {
		URL string `json:"url"`
		PID int    `json:"pid"`
	}
	data, err := os.ReadFile(h.Path("hub.json"))
	if err != nil || json.Unmarshal(data, &running) != nil || (running.PID != h.PID && h.conf.Root == nil) {
		return false
	}
	token, err := os.ReadFile(h.Path("owner.token"))
	h.URL, h.Owner = running.URL, strings.TrimSpace(string(token))
	return err == nil
}

// Answer is what the hub answered; Status 0 means that it did not.
type Answer struct {
	Status int
	Code   string `json:"code"`
	Detail string `json:"detail"`
	Body   []byte
	Err    error
}

// Do sends one request with the owner's token.
func (h *Hub) Do(method, path, body string) Answer { return h.As(h.Owner, method, path, body) }

// As sends one request with a token; an empty one sends none.
func (h *Hub) As(token, method, path, body string) (a Answer) {
	req, err := http.NewRequestWithContext(context.Background(), method, h.URL+path, strings.NewReader(body))
	if err != nil {
		return Answer{Err: err}
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := h.http.Do(req)
	if err != nil {
		return Answer{Err: err}
	}
	defer func() { _ = res.Body.Close() }()
	a.Body, a.Err = io.ReadAll(res.Body)
	_ = json.Unmarshal(a.Body, &a)
	a.Status = res.StatusCode
	return a
}

// Client is the hub's REST client with the owner's token.
func (h *Hub) Client() *hubapi.Client { return hubapi.WithTransport(h.URL, h.Owner, h.http.Transport) }

// Token makes a token of the owner's with these scopes.
func (h *Hub) Token(scopes ...string) string {
	h.t.Helper()
	body, err := json.Marshal(map[string]any{"name": "test", "scopes": scopes})
	if err != nil {
		h.t.Fatal(err)
	}
	var made struct {
		Token string `json:"token"`
	}
	if a := h.Do("POST", "/api/tokens", string(body)); a.Status > 299 || json.Unmarshal(a.Body, &made) != nil || made.Token == "" {
		h.t.Fatalf("no token: %d %s %v", a.Status, a.Body, a.Err)
	}
	return made.Token
}

// Kill9 ends the process without warning. A dead one stays dead.
func (h *Hub) Kill9() {
	if h.cmd == nil {
		return
	}
	_ = h.cmd.Process.Kill()
	<-h.exited
}

// quit ends the process with a word on what each of its goroutines was doing: a test
// that waited in vain is hard to understand without.
func (h *Hub) quit() {
	if h.cmd.Process.Signal(syscall.SIGQUIT) != nil {
		return // it has ended, or the system knows no such signal
	}
	select {
	case <-h.exited:
	case <-time.After(10 * time.Second):
	}
}

// Signal sends a signal.
func (h *Hub) Signal(s os.Signal) {
	h.t.Helper()
	if err := h.cmd.Process.Signal(s); err != nil {
		h.t.Fatalf("signal: %v", err)
	}
}

// Terminate is SIGTERM.
func (h *Hub) Terminate() { h.t.Helper(); h.Signal(syscall.SIGTERM) }

// Exited is closed when the process has ended.
func (h *Hub) Exited() <-chan struct{} { return h.exited }

// Wait waits for the end and returns how it ended.
func (h *Hub) Wait() *os.ProcessState {
	h.t.Helper()
	select {
	case <-h.exited:
		return h.cmd.ProcessState
	case <-time.After(Patience):
		h.t.Fatalf("the hub did not end\n%s", h.Output)
		return nil
	}
}

// Eventually polls until ok, which something broken never gets.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(Patience); !ok(); <-time.After(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it never happened: %s", what)
		}
	}
}

// Output collects what a process says.
type Output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

package endpoint

import (
	"context"
	"crypto/ed25519"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"parley.internal/client/kenny"
	"parley.internal/internal/endpoint/control"
	wire "parley.internal/protocol/kenny"
)

func TestAGoodChallengeIsServed(t *testing.T) {
	_, _, hub := connected(t)
	raw, err := hub.ask("remotehelp_status", "{}")
	codeIs(t, "remotehelp_status", err, "")
	if raw == nil {
		t.Error("no result")
	}
}

func TestNoPinOrAMalformedOneIsRefused(t *testing.T) {
	good := wire.FormatPublicKey(public(seeded(2)))
	for name, pins := range map[string][]string{
		"none": nil, "not base64": {"%%%"}, "short": {"AAAA"}, "three": {good, good, good}, "small order": {wire.FormatPublicKey(make([]byte, 32))},
	} {
		_, err := Open(Options{State: t.TempDir(), Config: Config{URL: "https://hub.example.org", ID: machine, ServerKeys: pins}, Version: "1"})
		if err == nil {
			t.Errorf("%s: an endpoint started", name)
		}
	}
}

func TestSettingsThatCannotWorkAreRefused(t *testing.T) {
	good := Config{URL: "https://hub.example.org", ID: machine, ServerKeys: []string{wire.FormatPublicKey(public(seeded(2)))}}
	for name, spoil := range map[string]func(*Config){
		"no address":                 func(c *Config) { c.URL = "" },
		"bad id":                     func(c *Config) { c.ID = "-x" },
		"plain http to another host": func(c *Config) { c.URL = "http://hub.example.org" },
		"bad release key":            func(c *Config) { c.ReleaseKeys = []string{"x"} },
		"bad level":                  func(c *Config) { c.LogForward = "loud" },
		"too often":                  func(c *Config) { c.Interval = 1 },
	} {
		c := good
		spoil(&c)
		if e, err := Open(Options{State: t.TempDir(), Config: c, Version: "1"}); err == nil {
			e.Close()
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestTheKeyIsMadeOnceAndADamagedOneIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	first, err := LoadKey(dir)
	if err != nil {
		t.Fatal(err)
	}
	again, err := LoadKey(dir)
	if err != nil || !first.Equal(again) {
		t.Errorf("another key the second time: %v", err)
	}
	path := filepath.Join(dir, keyFile)
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for _, damage := range []string{"", "short", strings.Repeat("x", 33)} {
		if err := os.WriteFile(path, []byte(damage), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadKey(dir); !errors.Is(err, ErrDamaged) {
			t.Errorf("%d bytes: %v", len(damage), err)
		}
		if left, _ := os.ReadFile(path); string(left) != damage {
			t.Error("the damaged file was changed")
		}
	}
}

func TestEnrolmentIsDoneOnceAndRemembered(t *testing.T) {
	h := newHub(t)
	opts := h.options(t)
	e := launch(t, opts)
	<-h.tunnels
	e.stop()
	if e.err != nil {
		t.Errorf("a stop is no error: %v", e.err)
	}
	// The same token again, then no token and no settings at all.
	for _, second := range []Options{opts, {State: opts.State, Version: "1.2.3", Program: "/nonexistent", sections: opts.sections}} {
		e := launch(t, second)
		<-h.tunnels
		e.stop()
	}
	if h.enrolled != 1 {
		t.Errorf("enrolled %d times", h.enrolled)
	}
	if data, err := os.ReadFile(filepath.Join(opts.State, ConfigFile)); err != nil || strings.Contains(string(data), token) {
		t.Errorf("the token was kept: %v", err)
	}
}

func TestWithoutTokenAMachineThatIsNotEnrolledDoesNotStart(t *testing.T) {
	h := newHub(t)
	opts := h.options(t)
	opts.Token = ""
	e := open(t, opts)
	defer e.Close()
	if err := e.Run(t.Context()); !errors.Is(err, ErrNotEnrolled) {
		t.Error(err)
	}
}

func TestARefusedTokenIsFinal(t *testing.T) {
	h := newHub(t)
	for status, want := range map[int]error{http.StatusUnauthorized: kenny.ErrEnrollToken, http.StatusBadRequest: kenny.ErrEnrollInvalid} {
		h.refuse = status
		e := open(t, h.options(t))
		if err := e.Run(t.Context()); !errors.Is(err, want) {
			t.Errorf("%d: %v; want %v", status, err, want)
		}
		e.Close()
	}
}

func TestAnOccupiedIDAsksForARekeyTokenAndALostAnswerDoesNot(t *testing.T) {
	h := newHub(t)
	h.machine = public(seeded(9)) // somebody else's
	e := open(t, h.options(t))
	if err := e.Run(t.Context()); !errors.Is(err, ErrNeedsRekey) || !strings.Contains(err.Error(), "--rekey") {
		t.Error(err)
	}
	e.Close()
	h.machine, h.refuse = public(e.key), http.StatusConflict // ours, but the answer was lost
	again := launch(t, e.opts)
	<-h.tunnels // the question whether the key is good
	<-h.tunnels
	again.stop()
	if again.err != nil {
		t.Error(again.err)
	}
}

func TestAHubThatCannotProveItselfGetsNothing(t *testing.T) {
	impostor := func(sign func(*wire.Register) wire.Frame) func(*websocket.Conn, chan<- wire.Frame) {
		return func(ws *websocket.Conn, said chan<- wire.Frame) {
			ctx := context.Background()
			r, _ := receive(ctx, ws).(*wire.Register)
			transmit(ctx, ws, sign(r))
			said <- receive(ctx, ws) // nil when the machine just leaves
		}
	}
	signedBy := func(fill byte) func(*wire.Register) wire.Frame {
		return func(r *wire.Register) wire.Frame {
			nonce := make([]byte, wire.NonceSize)
			tr, _ := wire.Transcript(r.AgentID, r.ClientNonce, nonce)
			sig, _ := wire.Sign(seeded(fill), tr)
			return &wire.Challenge{ServerNonce: nonce, ServerSig: sig}
		}
	}
	for name, act := range map[string]func(*websocket.Conn, chan<- wire.Frame){
		"another key": impostor(signedBy(7)),
		"no signature": impostor(func(*wire.Register) wire.Frame {
			return &wire.Challenge{ServerNonce: make([]byte, 32), ServerSig: make([]byte, 64)}
		}),
		"request at once": impostor(func(*wire.Register) wire.Frame {
			return &wire.Request{ID: "1", Tool: "shell_exec", Args: []byte(`{"script":"touch /tmp/owned","timeout_s":5}`)}
		}),
		"policy at once": impostor(func(*wire.Register) wire.Frame { return &wire.Policy{} }),
		"a huge message": func(ws *websocket.Conn, said chan<- wire.Frame) {
			_ = ws.Write(context.Background(), websocket.MessageText, make([]byte, 1<<20))
			_ = receive(context.Background(), ws)
			said <- receive(context.Background(), ws)
		},
		"a binary message": func(ws *websocket.Conn, said chan<- wire.Frame) {
			_ = ws.Write(context.Background(), websocket.MessageBinary, []byte("{}"))
			_ = receive(context.Background(), ws)
			said <- receive(context.Background(), ws)
		},
	} {
		h := newHub(t)
		said := make(chan wire.Frame, 8)
		h.raw = func(ws *websocket.Conn) { act(ws, said) }
		opts := h.options(t)
		h.machine = public(mustKey(t, opts.State))
		e := launch(t, opts)
		if f := <-said; f != nil {
			t.Errorf("%s: the machine went on with %s", name, f.Type())
		}
		if e.client.Connected() {
			t.Errorf("%s: counts as connected", name)
		}
		e.stop()
	}
}

func mustKey(t *testing.T, dir string) ed25519.PrivateKey {
	t.Helper()
	k, err := LoadKey(dir)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestHugeAndBrokenMessagesInASessionAreDropped(t *testing.T) {
	_, _, hub := connected(t)
	ctx := t.Context()
	for _, m := range []string{"no json", `{"type":"request"}`, `{"type":"challenge"}`, `{"type":"unheard_of"}`, `{"type":"request","id":"x","tool":"shell_exec","args":{"script":"` + strings.Repeat("a", 2<<20) + `"}}`} {
		if err := hub.ws.Write(ctx, websocket.MessageText, []byte(m)); err != nil {
			t.Fatal(err)
		}
	}
	_, err := hub.ask("remotehelp_status", "{}")
	codeIs(t, "after the noise", err, "")
}

func TestStoppingSaysGoodbye(t *testing.T) {
	_, e, hub := connected(t)
	e.stop()
	<-hub.over
	if hub.code != websocket.StatusGoingAway {
		t.Errorf("closed with %d", hub.code)
	}
}

func TestTelemetryComesRightAfterTheFirstHandshakeOnly(t *testing.T) {
	h, _, hub := connected(t)
	frame := next[*wire.Telemetry](hub)
	if frame.AgentID != machine || len(frame.Snapshot) == 0 {
		t.Errorf("%s with %d sections", frame.AgentID, len(frame.Snapshot))
	}
	_ = hub.ws.Close(websocket.StatusCode(wire.CloseSilent), "silent") // a quick way back
	again := <-h.tunnels
	// Calls are answered; a second snapshot would have come before.
	_, err := again.ask("telemetry_collect", `{"sections":["uptime"]}`)
	codeIs(t, "telemetry_collect", err, "")
	for {
		select {
		case f := <-again.pushed:
			if _, ok := f.(*wire.Telemetry); ok {
				t.Error("pushed again after a reconnection")
			}
			continue
		default:
		}
		return
	}
}

func TestLogRecordsReachTheHub(t *testing.T) {
	_, e, hub := connected(t)
	e.log.Warn("something odd", "count", 3)
	for {
		rec := next[*wire.Log](hub)
		if rec.Message != "something odd" {
			continue
		}
		if rec.AgentID != machine || rec.Level != wire.LevelWarn || rec.Target != "endpoint" || string(rec.Fields) != `{"count":3}` {
			t.Errorf("%+v %s", rec, rec.Fields)
		}
		return
	}
}

func TestASlowToolDelaysNothingElse(t *testing.T) {
	_, _, hub := connected(t)
	fifo := filepath.Join(t.TempDir(), "gate")
	slow := hub.start("shell_exec", `{"script":`+quote("mkfifo "+fifo+"; read x < "+fifo+"; echo $x")+`,"timeout_s":60}`)
	eventually(t, "the slow script has begun", func() bool { _, err := os.Stat(fifo); return err == nil })
	hub.write(&wire.Ping{})
	next[*wire.Pong](hub)
	_, err := hub.ask("remotehelp_status", "{}")
	codeIs(t, "meanwhile", err, "")
	_, err = hub.ask("shell_exec", `{"script":`+quote("echo through > "+fifo)+`,"timeout_s":60}`)
	codeIs(t, "the second script", err, "")
	raw, err := (<-slow).Outcome()
	if out := as[map[string]any](t, raw, err); out["stdout"] != "through\n" {
		t.Errorf("out is %v; want out[\"stdout\"] to be \"through\\n\"", out)
	}
}

func TestOneEndpointPerStateFolder(t *testing.T) {
	h := newHub(t)
	opts := h.options(t)
	e := open(t, opts)
	defer e.Close()
	if _, err := Open(opts); !errors.Is(err, ErrRunning) {
		t.Error(err)
	}
}

func TestStatusNeedsNoHub(t *testing.T) {
	h := newHub(t)
	opts := h.options(t)
	e := launch(t, opts)
	<-h.tunnels
	eventually(t, "connected", func() bool { st, err := Look(t.Context(), opts.State); return err == nil && st.Connected })
	h.server.CloseClientConnections()
	h.server.Close()
	st, err := Look(t.Context(), opts.State)
	want := Status{State: opts.State, ID: machine, URL: h.server.URL, Running: true, Version: "1.2.3", Enrolled: true, PublicKey: wire.FormatPublicKey(public(e.key)), Switch: control.State{Mode: control.On}}
	st.Connected = false
	st.Since = want.Since
	if d := cmp.Diff(want, st); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	e.stop()
	if st, err := Look(t.Context(), opts.State); err != nil || st.Running || st.Connected {
		t.Errorf("after the stop: %+v %v", st, err)
	}
}

// People look at a machine they just added; its package manager may take long.
func TestTheFirstSnapshotDoesNotWaitForTheSlowestSection(t *testing.T) {
	h := newHub(t)
	opts := h.options(t)
	opts.sections = nil
	launch(t, opts)
	first := next[*wire.Telemetry](<-h.tunnels)
	for _, name := range []string{"disk", "memory", "network", "defender", "win_update"} {
		if first.Snapshot[name] == nil {
			t.Errorf("no section %s", name)
		}
	}
	if first.Snapshot["app_updates"] != nil {
		t.Error("waited for the package manager")
	}
}

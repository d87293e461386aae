package notice

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	"go.uber.org/goleak"

	"parley.internal/internal/endpoint/control"
	wire "parley.internal/protocol/kenny"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 2 * time.Minute

// shown is a notification as the desktop got it.
type shown struct {
	id      uint32
	text    string
	actions []string
}

// desktop is a session with a bus of its own and a service for notifications.
type desktop struct {
	conn   *dbus.Conn
	put    chan shown
	gone   chan uint32
	lastID atomic.Uint32
}

func newDesktop(t *testing.T) *desktop {
	t.Helper()
	if _, err := exec.LookPath("dbus-daemon"); err != nil {
		if os.Getenv("PARLEY_TEST_REQUIRE_ALL") != "" {
			t.Fatal("dbus-daemon is missing: install the package dbus-daemon")
		}
		t.Skip("no dbus-daemon here: install the package dbus-daemon")
	}
	bus := exec.CommandContext(t.Context(), "dbus-daemon", "--session", "--nofork", "--print-address=1")
	out, err := bus.StdoutPipe()
	if err == nil {
		err = bus.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bus.Process.Kill(); _ = bus.Wait() })
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", strings.TrimSpace(address))
	d := &desktop{conn: join(t), put: make(chan shown, 16), gone: make(chan uint32, 16)}
	if err := d.conn.Export(d, object, service); err != nil {
		t.Fatal(err)
	}
	if _, err := d.conn.RequestName(service, dbus.NameFlagDoNotQueue); err != nil {
		t.Fatal(err)
	}
	return d
}

func join(t *testing.T) *dbus.Conn {
	t.Helper()
	conn, err := dbus.ConnectSessionBus()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func (*desktop) GetCapabilities() ([]string, *dbus.Error) {
	return []string{"actions", "body", "body-markup"}, nil
}

func (d *desktop) Notify(_ string, _ uint32, _, _, body string, actions []string, _ map[string]dbus.Variant, _ int32) (uint32, *dbus.Error) {
	id := d.lastID.Add(1)
	d.put <- shown{id, body, actions}
	return id, nil
}

func (d *desktop) CloseNotification(id uint32) *dbus.Error {
	d.gone <- id
	return nil
}

// click is a person's click, or what somebody on the bus says was one.
func click(t *testing.T, conn *dbus.Conn, id uint32, action string) {
	t.Helper()
	if err := conn.Emit(object, service+".ActionInvoked", id, action); err != nil {
		t.Fatal(err)
	}
}

// machine is an endpoint's switch that asks, and the notices of its questions.
func machine(t *testing.T) (*control.Switch, string) {
	t.Helper()
	state := t.TempDir()
	sw := control.NewSwitch(state, slog.New(slog.DiscardHandler))
	me, err := control.Me()
	if err == nil {
		_, err = sw.Set(control.Asking, me)
	}
	if err != nil {
		t.Fatal(err)
	}
	server, err := control.Listen(sw)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			_ = Watch(ctx, state, Desktop)
		}
	}()
	t.Cleanup(func() { cancel(); <-done; _ = server.Close() })
	return sw, state
}

// asked puts a question; what comes of it is sent.
func asked(t *testing.T, sw *control.Switch, script string) <-chan error {
	t.Helper()
	args, err := json.Marshal(map[string]any{"script": script, "timeout_s": 30})
	if err != nil {
		t.Fatal(err)
	}
	result := make(chan error, 1)
	go func() { result <- sw.Consent(t.Context(), "call", "shell_exec", args) }()
	return result
}

func next[T any](t *testing.T, from <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(patience):
		t.Fatalf("never: %s", what)
	}
	return v
}

// Somebody at a desktop who had switched to "ask" saw nothing: a call waited two
// minutes for a command in a terminal. Now a notice shows it, and takes the answer.
func TestAPersonIsAskedOnTheirDesktop(t *testing.T) {
	d := newDesktop(t)
	sw, _ := machine(t)
	for _, action := range []string{"allow", "deny"} {
		result := asked(t, sw, "echo <b>hi</b>\u202e")
		n := next(t, d.put, "a notice")
		if !strings.Contains(n.text, "echo &lt;b&gt;hi&lt;/b&gt;") || strings.ContainsRune(n.text, '\u202e') || !strings.Contains(n.text, "shell_exec") {
			t.Errorf("shown: %q", n.text)
		}
		if !slices.Contains(n.actions, "allow") || !slices.Contains(n.actions, "deny") {
			t.Errorf("buttons: %v", n.actions)
		}
		// Others on the bus cannot click; a click on the notice itself decides nothing.
		click(t, join(t), n.id, "allow")
		click(t, d.conn, n.id+7, "allow")
		click(t, d.conn, n.id, "default")
		click(t, d.conn, n.id, action)
		err := next(t, result, "the answer")
		if (err == nil) != (action == "allow") {
			t.Errorf("after %s: %v", action, err)
		}
		var refused *wire.Error
		if action == "deny" && (!errors.As(err, &refused) || refused.Code != wire.CodeDisabled) {
			t.Errorf("after a no: %v", err)
		}
		next(t, d.gone, "the notice is taken down")
	}
}

// A question that was answered in a terminal does not stay on the desktop.
func TestANoticeGoesWhenItsQuestionWasAnsweredElsewhere(t *testing.T) {
	d := newDesktop(t)
	sw, state := machine(t)
	result := asked(t, sw, "echo hi")
	n := next(t, d.put, "a notice")
	if reply, err := control.Ask(t.Context(), state, control.Request{Answer: 1, Yes: false}); err != nil || reply.Error != "" {
		t.Fatal(reply.Error, err)
	}
	if err := next(t, result, "the answer"); err == nil {
		t.Error("a no was taken for a yes")
	}
	if id := next(t, d.gone, "the notice is taken down"); id != n.id {
		t.Errorf("notice %d was taken down, not %d", id, n.id)
	}
}

// Nobody agrees to what they cannot see: the end of a long script would be cut off.
func TestWhatIsTooLongToShowCannotBeAllowedThere(t *testing.T) {
	d := newDesktop(t)
	sw, _ := machine(t)
	result := asked(t, sw, "echo harmless"+strings.Repeat(" ", 600)+"; echo hidden")
	n := next(t, d.put, "a notice")
	if slices.Contains(n.actions, "allow") || strings.Contains(n.text, "harmless") || !strings.Contains(n.text, "parley-endpoint approvals") {
		t.Errorf("shown %q with %v", n.text, n.actions)
	}
	click(t, d.conn, n.id, "allow") // a desktop that invents a button
	click(t, d.conn, n.id, "deny")
	if err := next(t, result, "the answer"); err == nil {
		t.Error("what nobody could read was allowed")
	}
}

// A session without a service for notifications is no reason to say anything but that.
func TestADesktopWithoutNotificationsIsAnError(t *testing.T) {
	d := newDesktop(t)
	if _, err := d.conn.ReleaseName(service); err != nil {
		t.Fatal(err)
	}
	if _, err := Desktop(t.Context(), control.Question{N: 1, Tool: "shell_exec"}); err == nil {
		t.Error("a notice was shown by nobody")
	}
}

package fleet_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"parley.internal/internal/fleet"
	"parley.internal/internal/fleet/call"
	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/identity"
	"parley.internal/protocol/kenny"
)

func TestCallsAreCheckedBeforeAnythingIsSent(t *testing.T) {
	w := newWorld(t, setup{})
	linux := w.join("lin").echoes()
	win := w.newFake("win", w.enrol("win"))
	win.meta.OS = kenny.Windows
	check(t, win.dial())
	must(w.fleet.Create(t.Context(), op(), "away", "", []string{"lab"}))(t)
	reader := as(identity.AtAPI, identity.FleetRead)
	limited := as(identity.AtAPI, identity.FleetRead, "machine:lin")
	tagged := as(identity.AtAPI, identity.FleetRead, "tag:lab")
	for name, c := range map[string]struct {
		who                 identity.Actor
		machine, tool, args string
		code                fault.Code
		says                string
	}{
		"no machine":                   {op(), "", "net_config", "", fault.NoAgent, "agent_id"},
		"unknown machine":              {op(), "ghost", "net_config", "", fault.NotFound, "ghost"},
		"unknown tool":                 {op(), "lin", "format_disk", "", fault.UnknownTool, "format_disk"},
		"away":                         {op(), "away", "net_config", "", fault.Offline, ""},
		"no scope for S":               {reader, "lin", "fs_read", `{"path":"/x"}`, fault.Forbidden, "fleet:sensitive"},
		"no scope for M":               {reader, "lin", "shell_exec", `{"script":"x"}`, fault.Forbidden, "fleet:call"},
		"update needs admin":           {as(identity.AtAPI, identity.FleetCall), "lin", "agent_update", "", fault.Forbidden, "fleet:admin"},
		"outside its machines":         {limited, "win", "net_config", "", fault.Forbidden, ""},
		"limited and unknown":          {limited, "ghost", "net_config", "", fault.Forbidden, ""},
		"outside its tags":             {tagged, "lin", "net_config", "", fault.Forbidden, ""},
		"PowerShell is said for shell": {op(), "win", "shell_exec", `{"script":"x"}`, fault.Unsupported, "powershell_exec"},
		"winget on Linux":              {op(), "lin", "winget_list", "", fault.Unsupported, "package manager"},
		"missing argument":             {op(), "lin", "fs_read", `{}`, fault.BadArgs, "path"},
		"unknown argument":             {op(), "lin", "net_config", `{"x":1}`, fault.BadArgs, "takes none"},
		"queue option in args":         {op(), "lin", "net_config", `{"queue_for_s":1}`, fault.BadArgs, ""},
		"no object":                    {op(), "lin", "net_config", `[]`, fault.BadArgs, ""},
		"blocked by a rule":            {op(), "lin", "shell_exec", `{"script":"rm -rf /"}`, fault.Blocked, "safety guard"},
		"blocked path":                 {op(), "lin", "fs_read", `{"path":"/etc/shadow"}`, fault.Blocked, "["},
	} {
		_, err := w.call(c.who, c.machine, c.tool, c.args)
		if e := wantCode(t, err, c.code); !strings.Contains(e.Message, c.says) {
			t.Errorf("%s: %q; want strings.Contains(e.Message, c.says)", name, e.Message)
		}
	}
	if n := len(linux.asked) + len(win.asked); n != 0 {
		t.Errorf("%d frames reached a machine", n)
	}
	if _, err := w.call(limited, "lin", "net_config", ""); err != nil {
		t.Error(err)
	}
}

func TestOnlyCheckedKeysReachTheWireAndExecAlwaysHasATimeout(t *testing.T) {
	w := newWorld(t, setup{})
	m := w.join("lin").echoes()
	for _, c := range []struct {
		tool, args string
		timeout    time.Duration
		want       string
	}{
		{"shell_exec", `{"script":"true"}`, 0, `{"script":"true","timeout_s":30}`},
		{"shell_exec", `{"script":"true"}`, 90 * time.Second, `{"script":"true","timeout_s":90}`},
		{"shell_exec", `{ "timeout_s": 5.0, "script":"true"}`, 0, `{"script":"true","timeout_s":5}`},
		{"fs_list", `{"path":"/tmp"}`, 90 * time.Second, `{"path":"/tmp"}`},
		{"diag_services", ``, 0, `{}`},
	} {
		done, err := w.fleet.Call(t.Context(), op(), call.Request{Machine: "lin", Tool: c.tool, Args: jsontext.Value(c.args), Timeout: c.timeout})
		if err != nil || string(done.Result) != c.want {
			t.Errorf("%s %s: %s %v; want no error, string(done.Result) to be %v", c.tool, c.args, done.Result, err, c.want)
		}
		r := receive(t, m.asked, "request")
		if id, err := uuid.Parse(r.ID); err != nil || id.Version() != 4 || r.ID != done.CallID {
			t.Errorf("id %q", r.ID)
		}
	}
	for _, bad := range []time.Duration{-1, time.Millisecond, 2 * time.Hour} {
		_, err := w.fleet.Call(t.Context(), op(), call.Request{Machine: "lin", Tool: "net_config", Timeout: bad})
		wantCode(t, err, fault.BadArgs)
	}
}

func TestTheMachinesWordsPassUnchanged(t *testing.T) {
	w := newWorld(t, setup{})
	var next *kenny.Error
	w.join("lin").answers(func(*kenny.Request) (jsontext.Value, *kenny.Error) { return jsontext.Value(`{}`), next })
	for _, c := range []struct {
		code kenny.Code
		want fault.Code
	}{{"not_found", "not_found"}, {"exec_failed", "exec_failed"}, {"disabled", "disabled"}, {"custom_code", "custom_code"}, {"Bad Code!", "internal"}} {
		next = &kenny.Error{Code: c.code, Message: "as the machine says: ä"}
		_, err := w.call(op(), "lin", "net_config", "")
		if e := wantCode(t, err, c.want); e.Message != next.Message || !e.FromMachine || e.CallID == "" {
			t.Errorf("%+v; want e.Message to be %v, e.FromMachine, e.CallID not to be \"\"", e, next.Message)
		}
	}
	if w.view("lin").Control != "off" {
		t.Error("a refusal by the switch is not shown")
	}
}

func TestTheMachinesOwnTimeoutWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		m := w.join("lin")
		go func() {
			r := <-m.asked
			<-time.After(32 * time.Second) // its own time-out, a little late
			m.reply(r.ID, nil, &kenny.Error{Code: "timeout", Message: "tool exceeded 30s"})
		}()
		_, err := w.call(op(), "lin", "net_config", "")
		if e := wantCode(t, err, fault.Timeout); !e.FromMachine {
			t.Errorf("%+v; want e.FromMachine", e)
		}
		began := time.Now()
		_, err = w.call(op(), "lin", "net_config", "") // nobody answers at all
		if e := wantCode(t, err, fault.Timeout); e.FromMachine || time.Since(began) != 35*time.Second {
			t.Errorf("%+v after %v", e, time.Since(began))
		}
		m.cut()
	})
}

func TestACallerThatGivesUpEndsTheWaitOnly(t *testing.T) {
	w := newWorld(t, setup{})
	m := w.join("lin")
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := w.fleet.Call(ctx, op(), call.Request{Machine: "lin", Tool: "net_config"})
		failed <- err
	}()
	r := receive(t, m.asked, "request")
	cancel()
	wantCode(t, receive(t, failed, "failure"), fault.Cancelled)
	m.reply(r.ID, jsontext.Value(`{}`), nil) // late: dropped
	if w.fleet.Stats().Read().Dropped["late_response"] != 1 {
		t.Error("a late answer is not counted")
	}
}

func TestACallCanBeCancelledByID(t *testing.T) {
	w := newWorld(t, setup{})
	m := w.join("lin")
	id := uuid.NewString()
	failed := make(chan error, 1)
	go func() {
		_, err := w.fleet.Call(t.Context(), op(), call.Request{ID: id, Machine: "lin", Tool: "net_config"})
		failed <- err
	}()
	receive(t, m.asked, "request")
	if st := w.status(id); st.State != call.StateSent {
		t.Errorf("%+v; want st.State to be %v", st, call.StateSent)
	}
	must(w.fleet.CancelCall(t.Context(), op(), id))(t)
	wantCode(t, receive(t, failed, "failure"), fault.Cancelled)
	if st := w.status(id); st.State != call.StateCancelled {
		t.Errorf("%+v; want st.State to be %v", st, call.StateCancelled)
	}
}

func TestAFullLinkIsBusyAndAClosedOneOffline(t *testing.T) {
	w := newWorld(t, setup{})
	m := w.join("lin")
	m.mu.Lock()
	m.full = true
	m.mu.Unlock()
	_, err := w.call(op(), "lin", "net_config", "")
	wantCode(t, err, fault.Busy)
	m.mu.Lock()
	m.full, m.ended = false, true
	m.mu.Unlock()
	_, err = w.call(op(), "lin", "net_config", "")
	wantCode(t, err, fault.Offline)
}

func TestTooLargeACallIsNotSent(t *testing.T) {
	w := newWorld(t, setup{deps: func(d *fleet.Deps) { d.NoMirror = true }})
	w.join("lin")
	_, err := w.call(op(), "lin", "shell_exec", `{"script":"`+strings.Repeat(`\u0001`, 60<<10)+`"}`)
	wantCode(t, err, fault.TooLarge)
}

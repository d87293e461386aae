package fleet_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/internal/fleet/fault"
	"parley.internal/protocol/kenny"
)

// says makes the machine report its switch as our endpoint does.
func (f *fake) says(mode string) {
	f.sess().Receive(fmt.Appendf(nil, `{"type":"log","agent_id":%q,"at":%q,"level":"info","target":%q,"message":"remote control switched","fields":{%q:%q,"user":"ann"}}`,
		f.id, time.Now().UTC().Format(time.RFC3339), kenny.TargetControl, kenny.ControlKey, mode))
}

func TestTheSwitchIsShownAsTheMachineSaysAtOnceAndOnEveryHub(t *testing.T) {
	h := hubs(t, nil, 2, nil)
	m := h[0].newFake("lab", h[0].enrol("lab"))
	m.meta.Extra = map[string]jsontext.Value{kenny.ControlKey: jsontext.Value(`"off"`)}
	check(t, m.dial())
	if c := h[0].view("lab").Control; c != kenny.ControlOff {
		t.Errorf("on connecting: %q", c)
	}
	h[1].until("known", func() bool { _, err := h[1].fleet.Machine(t.Context(), op(), "lab"); return err == nil })
	for _, mode := range []string{"private", "ask", "on", "nonsense"} {
		m.says(mode)
		want := kenny.Control(mode)
		if mode == "nonsense" {
			want = kenny.ControlOn
		}
		if c := h[0].view("lab").Control; c != want {
			t.Errorf("after %s: %q", mode, c)
		}
		h[1].until("the other hub shows "+mode, func() bool { return h[1].view("lab").Control == want })
	}
	m.says("off")
	m.leave()
	later := newWorld(t, setup{db: h[0].db, key: h[0].key, name: "later", shared: true})
	if c := later.view("lab").Control; c != kenny.ControlOff {
		t.Errorf("a hub that starts later: %q", c)
	}
}

func TestASwitchThatSaysNothingIsSeenByItsAnswers(t *testing.T) {
	w := newWorld(t, setup{})
	var failure *kenny.Error
	m := w.join("lab").answers(func(*kenny.Request) (jsontext.Value, *kenny.Error) { return jsontext.Value(`{}`), failure })
	disabled := &kenny.Error{Code: kenny.CodeDisabled, Message: "not now"}
	for _, c := range []struct {
		says, tool, args string
		failure          *kenny.Error
		want             kenny.Control
	}{
		{"", "net_config", "", nil, ""},
		{"", "net_dns_flush", "", nil, kenny.ControlOn},
		{"", "net_dns_flush", "", disabled, kenny.ControlOff},
		{"", "fs_read", `{"path":"/tmp/x"}`, disabled, kenny.ControlPrivate},
		{"", "net_dns_flush", "", disabled, kenny.ControlPrivate},
		{"ask", "net_dns_flush", "", nil, kenny.ControlAsk},
		{"ask", "net_dns_flush", "", disabled, kenny.ControlAsk}, // the person there said no, once
	} {
		if c.says != "" {
			m.says(c.says)
		}
		failure = c.failure
		_, _ = w.call(op(), "lab", c.tool, c.args)
		if got := w.view("lab").Control; got != c.want {
			t.Errorf("%+v: %q; want %v", c, got, c.want)
		}
	}
}

func TestAHubIsPatientWithThePersonAtTheMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		m := w.join("lab")
		m.says("ask")
		for tool, want := range map[string]time.Duration{
			"net_dns_flush": 30*time.Second + kenny.AskTime + kenny.AnswerGrace, // changes something: the person is asked
			"net_config":    30*time.Second + kenny.AnswerGrace,                 // only looks
		} {
			began := time.Now()
			_, err := w.call(op(), "lab", tool, "")
			wantCode(t, err, fault.Timeout)
			if took := time.Since(began); took != want {
				t.Errorf("%s was given %s, want %s", tool, took, want)
			}
			m.sess().Receive([]byte(`{"type":"ping"}`))
		}
		m.cut()
	})
}

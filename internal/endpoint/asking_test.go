package endpoint

import (
	"context"
	"strings"
	"testing"

	"parley.internal/internal/endpoint/control"
	wire "parley.internal/protocol/kenny"
)

// waits gives the question of the person at the machine, once there is one.
func waits(t *testing.T, state string) (q control.Question) {
	t.Helper()
	eventually(t, "a question", func() bool {
		list, err := Waiting(t.Context(), state)
		if err != nil || len(list) == 0 {
			return false
		}
		q = list[0]
		return true
	})
	return q
}

// The whole way: a hub calls, the person at the machine sees exactly what would
// run and decides; the guard and the switch keep the last word.
func TestThePersonAtTheMachineIsAsked(t *testing.T) {
	_, e, hub := connected(t)
	state := e.opts.State
	if _, err := Turn(t.Context(), state, control.Asking); err != nil {
		t.Fatal(err)
	}
	if _, err := hub.ask("net_config", "{}"); err != nil {
		t.Errorf("looking is asked too: %v", err)
	}
	_, refused := hub.ask("shell_exec", `{"script":"rm -rf /","timeout_s":5}`)
	codeIs(t, "what the guard refuses is not asked", refused, wire.CodeBlocked)

	answer := hub.start("shell_exec", `{"script":"echo asked","timeout_s":5}`)
	q := waits(t, state)
	if q.Tool != "shell_exec" || !strings.Contains(string(q.Arguments), `"script":"echo asked"`) {
		t.Errorf("shown: %+v", q)
	}
	if err := Decide(t.Context(), state, q.N, true); err != nil {
		t.Fatal(err)
	}
	if r := <-answer; !r.OK || !strings.Contains(string(r.Result), `"asked\n"`) {
		t.Errorf("after a yes: %+v", r)
	}
	answer = hub.start("shell_exec", `{"script":"echo no","timeout_s":5}`)
	if err := Decide(t.Context(), state, waits(t, state).N, false); err != nil {
		t.Fatal(err)
	}
	r := <-answer
	codeIs(t, "after a no", r.Error, wire.CodeDisabled)

	answer = hub.start("shell_exec", `{"script":"echo late","timeout_s":5}`)
	q = waits(t, state)
	if _, err := Turn(t.Context(), state, control.Off); err != nil {
		t.Fatal(err)
	}
	if err := Decide(t.Context(), state, q.N, true); err != nil {
		t.Fatal(err)
	}
	r = <-answer
	codeIs(t, "switched off while the question was open", r.Error, wire.CodeDisabled)
}

func TestTheHubHearsOfTheSwitchAtOnceWhateverIsForwarded(t *testing.T) {
	for _, level := range []string{"info", "error"} {
		h := newHub(t)
		opts := h.options(t)
		opts.Config.LogForward = level
		launch(t, opts)
		hub := <-h.tunnels
		if _, err := Turn(context.Background(), opts.State, control.Off); err != nil {
			t.Fatal(err)
		}
		var told []wire.Control
		for len(told) == 0 {
			if l := next[*wire.Log](hub); l.Control() != "" {
				told = append(told, l.Control())
			}
		}
		if told[0] != wire.ControlOff {
			t.Errorf("with level %s: %q", level, told)
		}
	}
}

package fleet_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/internal/fleet/call"
	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/identity"
	"parley.internal/protocol/kenny"
)

// Whoever refused, hub or machine, and whoever lied: it is on record once, with
// who and what, and without the script.
func TestWhatIsRefusedAndWhoLiesIsInTheTrail(t *testing.T) {
	w := newWorld(t, setup{})
	var says *kenny.Error
	m := w.join("pc").answers(func(*kenny.Request) (jsontext.Value, *kenny.Error) { return nil, says })
	w.join("victim")
	reader := as(identity.AtAPI, identity.FleetRead)
	const secret = "topsecretword"
	for _, c := range []struct {
		who        identity.Actor
		tool, args string
		says       *kenny.Error
		code       fault.Code
	}{
		{op(), "shell_exec", `{"script":"rm -rf / # ` + secret + `"}`, nil, fault.Blocked},
		{reader, "shell_exec", `{"script":"echo ` + secret + `"}`, nil, fault.Forbidden},
		{op(), "net_dns_flush", `{}`, &kenny.Error{Code: kenny.CodeDisabled, Message: "switched off here"}, fault.Disabled},
		{op(), "net_adapter_reset", `{"name":"eth0"}`, &kenny.Error{Code: kenny.CodeBlocked, Message: "refused by the safety guard: no [x.y]"}, fault.Blocked},
	} {
		says = c.says
		_, err := w.call(c.who, "pc", c.tool, c.args)
		wantCode(t, err, c.code)
	}
	m.sess().Receive([]byte(`{"type":"telemetry","agent_id":"victim","collected_at":"2026-01-01T00:00:00Z","snapshot":{"disk":{"status":"crit","summary":"lies"}}}`))
	m.sess().Receive([]byte(`{"type":"log","agent_id":"victim","at":"2026-01-01T00:00:00Z","level":"error","target":"t","message":"lies"}`))
	must(w.fleet.Calls(t.Context(), op(), call.Filter{}))(t) // outcomes are on disk
	got := map[string]int{}
	for _, r := range w.trailOf("fleet.") {
		detail := must(json.Marshal(r))(t)
		if strings.Contains(string(detail), secret) {
			t.Errorf("the trail has the script: %s", detail)
		}
		if r.Actor == "" || r.Target == "" {
			t.Errorf("nobody or nothing: %s", detail)
		}
		tool, _ := r.Detail["tool"].(string)
		got[strings.TrimSpace(string(r.Action)+" "+r.Outcome+" "+tool)]++
	}
	for what, n := range map[string]int{
		"fleet.call blocked shell_exec": 1, "fleet.call forbidden shell_exec": 1, "fleet.call disabled net_dns_flush": 1,
		"fleet.call blocked net_adapter_reset": 1, "fleet.foreign_frame refused": 2,
	} {
		if got[what] != n {
			t.Errorf("%s: %d times, want %d, in %v", what, got[what], n, got)
		}
	}
}

// Each frame alone is dropped, counted, and changes nothing; the session goes on.
func TestOddFramesOfAMachineAreDroppedAndChangeNothing(t *testing.T) {
	sections := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"s%d":{"status":"ok","summary":"s"}`, i)
		}
		return b.String()[1:]
	}
	telemetry := func(snapshot string) string {
		return `{"type":"telemetry","agent_id":"pc","collected_at":"2026-01-01T00:00:00Z","snapshot":` + snapshot + `}`
	}
	w := newWorld(t, setup{})
	key := w.enrol("pc")
	for name, frame := range map[string]string{
		"no JSON":                     `{"type":"telemetry"`,
		"two values":                  `{"type":"ping"}{"type":"ping"}`,
		"an array":                    `["ping"]`,
		"a key twice":                 `{"type":"ping","type":"pong"}`,
		"a key in another case":       `{"Type":"ping"}`,
		"a key nobody knows":          `{"type":"ping","more":1}`,
		"a status nobody knows":       telemetry(`{"disk":{"status":"fine","summary":"s"}}`),
		"no summary":                  telemetry(`{"disk":{"status":"ok"}}`),
		"no section but a text":       telemetry(`{"disk":"ok"}`),
		"a section called like a tag": telemetry(`{"<b>":{"status":"ok","summary":"s"}}`),
		"too many sections":           telemetry(`{` + sections(129) + `}`),
		"no snapshot":                 telemetry(`null`),
		"a time nobody can read":      `{"type":"telemetry","agent_id":"pc","collected_at":"yesterday","snapshot":{"disk":{"status":"ok","summary":"s"}}}`,
		"a level nobody knows":        `{"type":"log","agent_id":"pc","at":"2026-01-01T00:00:00Z","level":"loud","target":"t","message":"m"}`,
		"a log without a message":     `{"type":"log","agent_id":"pc","at":"2026-01-01T00:00:00Z","level":"info","target":"t"}`,
		"result and error":            `{"type":"response","id":"1","ok":true,"result":{},"error":{"code":"internal","message":"m"}}`,
		"a result that is no object":  `{"type":"response","id":"1","ok":true,"result":[1]}`,
		"neither ok nor not":          `{"type":"response","id":"1","result":{}}`,
		"a response to nothing":       `{"type":"response","id":"","ok":true}`,
		"an endless id":               `{"type":"response","id":"` + strings.Repeat("x", 129) + `","ok":true}`,
		"the hub's request":           `{"type":"request","id":"1","tool":"shell_exec","args":{"script":"x"}}`,
		"the hub's policy":            `{"type":"policy","rules":[]}`,
		"the hub's challenge":         `{"type":"challenge","server_nonce":"AAAA","server_sig":"AAAA"}`,
		"a second register":           `{"type":"register","agent_id":"pc","meta":{"hostname":"h","os":"linux","version":"1"}}`,
		"a second auth":               `{"type":"auth","agent_sig":"AAAA"}`,
	} {
		m := w.connect("pc", key)
		before := w.fleet.Stats().Read().Dropped["bad_frame"]
		m.sess().Receive([]byte(frame))
		if n := w.fleet.Stats().Read().Dropped["bad_frame"] - before; n != 1 {
			t.Errorf("%s: counted %d times", name, n)
		}
		if v := w.view("pc"); !v.Online || v.Overall != kenny.StatusUnknown {
			t.Errorf("%s: %+v; want v.Online, v.Overall to be %v", name, v, kenny.StatusUnknown)
		}
		select {
		case code := <-m.closed:
			t.Errorf("%s: closed %d", name, code)
		default:
		}
	}
}

package tunnel_test

import (
	"strings"
	"testing"
)

// What an operator's script gets wrong is refused with a reason that names it, and
// nothing is changed or sent.
func TestBadRequestsOfOperatorsChangeNothing(t *testing.T) {
	h := newHub(t, options{})
	r, _ := h.rawMachine("pc")
	long := strings.Repeat("x", 200)
	_, before := h.rest("GET", "/api/machines/pc", "")
	for _, c := range []struct {
		method, path, body string
		want               int
	}{
		{"POST", "/api/machines", `junk`, 400},
		{"POST", "/api/machines", `{"agent_id":""}`, 400},
		{"POST", "/api/machines", `{"agent_id":"../etc"}`, 400},
		{"POST", "/api/machines", `{"agent_id":"` + long + `"}`, 400},
		{"POST", "/api/machines", `{"agent_id":"pc"}`, 409},
		{"PATCH", "/api/machines/pc", `{"name":7}`, 400},
		{"PATCH", "/api/machines/pc", `{"colour":"red"}`, 400},
		{"PATCH", "/api/machines/pc", `{"mutes":{"disk":{"reason":"","until":"never"}}}`, 400},
		{"PATCH", "/api/machines/ghost", `{"name":"x"}`, 404},
		{"DELETE", "/api/machines/ghost", ``, 404},
		{"POST", "/api/machines/pc/token", `{}`, 409}, // enrolled: needs a re-key
		{"POST", "/api/machines/new/token", `{"ttl_s":-1}`, 400},
		{"POST", "/api/machines/new/token", `{"ttl_s":99999999}`, 400},
		{"POST", "/api/machines/bad%20id/token", `{}`, 400},
		{"POST", "/api/machines/pc/calls", `{}`, 400},
		{"POST", "/api/machines/pc/calls", `{"tool":"shell_exec","args":"rm"}`, 400},
		{"POST", "/api/machines/pc/calls", `{"tool":"shell_exec","args":{"script":""}}`, 400},
		{"POST", "/api/machines/pc/calls", `{"tool":"shell_exec","args":{"script":7}}`, 400},
		{"POST", "/api/machines/pc/calls", `{"tool":"shell_exec","args":{"script":"true","timeout_s":0}}`, 400},
		{"POST", "/api/machines/pc/calls", `{"tool":"shell_exec","args":{"script":"true","timeout_s":3601}}`, 400},
		{"POST", "/api/machines/pc/calls", `{"tool":"shell_exec","args":{"script":"true"},"timeout_s":-5}`, 400},
		{"POST", "/api/machines/pc/calls", `{"tool":"shell_exec","args":{"script":"true"},"queue_for_s":604801}`, 400},
		{"POST", "/api/machines/pc/calls", `{"tool":"screen_capture","queue_for_s":60}`, 400},
		{"POST", "/api/machines/pc/calls", `{"tool":"diag_eventlog","args":{"log":"System","count":1001}}`, 400},
		{"POST", "/api/machines/pc/calls", `{"tool":"telemetry_collect","args":{"sections":"disk"}}`, 400},
		{"POST", "/api/machines/pc/calls", `{"tool":"shell_exec","args":{"script":"` + strings.Repeat("x", 129<<10) + `"}}`, 400},
		{"GET", "/api/machines?cursor=nonsense%00", ``, 400},
		{"GET", "/api/machines?presence=asleep", ``, 400},
		{"GET", "/api/fleet?overall=fine", ``, 400},
		{"GET", "/api/fleet/calls/nothing", ``, 404},
		{"DELETE", "/api/fleet/calls/nothing", ``, 404},
		{"POST", "/api/fleet/policy/rules", `{"id":"BAD ID","applies_to":"path","pattern":"x","reason":"r"}`, 400},
		{"POST", "/api/fleet/policy/rules", `{"id":"x","applies_to":"everything","pattern":"x","reason":"r"}`, 400},
		{"POST", "/api/fleet/policy/rules", `{"id":"x","applies_to":"path","pattern":"","reason":"r"}`, 400},
		{"POST", "/api/fleet/policy/rules", `{"id":"x","applies_to":"path","pattern":"x","reason":"` + strings.Repeat("r", 201) + `"}`, 400},
		{"POST", "/api/fleet/policy/rules", `{"id":"delete.root","applies_to":"path","pattern":"x","reason":"r"}`, 400},
		{"POST", "/api/machines/pc/update", `{}`, 503},
		{"GET", "/api/machines/pc/screenshots/x.png", ``, 404},
	} {
		status, body := h.rest(c.method, c.path, c.body)
		if status != c.want || !strings.Contains(body, `"code":"`) {
			t.Errorf("%s %s %.80s: %d %.300s, want %d", c.method, c.path, c.body, status, body, c.want)
		}
	}
	if _, after := h.rest("GET", "/api/machines/pc", ""); after != before {
		t.Errorf("%s\nbecame\n%s", before, after)
	}
	if _, list := h.rest("GET", "/api/machines", ""); strings.Count(list, `"agent_id"`) != 1 {
		t.Errorf("machines appeared: %s", list)
	}
	if _, rules := h.rest("GET", "/api/fleet/policy/rules", ""); !strings.Contains(rules, `"operator":[]`) {
		t.Error("a rule appeared")
	}
	r.send(`{"type":"ping"}`)
	if f := r.hear(); f.Type() != "pong" { // and no request before it
		t.Errorf("the machine heard %v", f)
	}
}

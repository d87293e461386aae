//go:build linux

package owners_test

import (
	"encoding/json"
	"strings"
)

// person makes somebody with everyday rights, and more if it is given by name.
func (h *hub) person(name string, more ...string) (token string) {
	h.t.Helper()
	scopes := strings.Join(append([]string{"*"}, more...), ",")
	out, code := h.parley(h.Owner, "token", "create", "--principal", name, "--name", name, "--scopes", scopes, "--json")
	var made struct{ Token string }
	if err := json.Unmarshal([]byte(out), &made); err != nil || code != 0 {
		h.t.Fatalf("no token for %s: %v: %s", name, err, out)
	}
	return made.Token
}

// task has a task of a person run to its end and gives what it said on the way.
func (h *hub) task(token, goal string) string {
	h.t.Helper()
	out, _ := h.parley(token, "task", "submit", goal, "--watch", "--json")
	return out
}

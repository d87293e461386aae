package backup_test

import (
	"fmt"
	"regexp"
	"strings"

	"parley.internal/client/hubapi"
	wire "parley.internal/protocol/rest"
	"parley.internal/test/hubtest"
)

// eventually runs a command until everything it asks for can be reached: the hub that
// was backed up counts as alive for some seconds more.
func (u *user) eventually(args ...string) (out string) {
	u.t.Helper()
	hubtest.Eventually(u.t, "parley "+strings.Join(args, " "), func() bool {
		var err error
		out, err = u.try(args...)
		if err != nil && !strings.Contains(out, "cannot be reached now") {
			u.t.Fatalf("parley %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return err == nil
	})
	return out
}

// present is who is in a room just now, which is nothing a backup holds, and how long
// the log of a task is: one that waits notes that another hub has taken it up.
var present = regexp.MustCompile(`,"(members|agents|last_seq)":\d+`)

// lookAround is what somebody sees who looks at everything: it must be the same
// before a backup and after its restore.
func (u *user) lookAround() map[string]string {
	u.t.Helper()
	seen := map[string]string{}
	for _, args := range [][]string{
		{"conversation", "list", "--json"},
		{"conversation", "history", "parley"},
		{"conversation", "history", "parley", "--thread", "trip", "--archived"},
		{"conversation", "archives", "parley", "--thread", "trip", "--json"},
		{"conversation", "search", "harbour", "--json"},
		{"conversation", "search", "λογος", "--json"},
		{"agent", "list"},
		{"agent", "show", "clerk"},
		{"task", "list", "--json"},
		{"approvals", "list", "--json"},
		{"machine", "queue", "list", "--json"},
		{"machine", "policy", "list"},
		{"machine", "calls", "--json"},
		{"room", "list", "--json"},
		{"room", "policy", "den", "--show"},
		{"place", "board", "--json"},
		{"skill", "exchanges", "--json"},
		{"skill", "threads", "--json"},
	} {
		seen[strings.Join(args, " ")] = present.ReplaceAllString(u.eventually(args...), "")
	}
	// Keys of hosted agents are in no backup: those who lost theirs get new ones. What
	// is known of others stays.
	keys, err := hubapi.Call(u.t.Context(), u.h.Client(), wire.ListPlaceKeys, wire.PlaceLimit{})
	if err != nil {
		u.t.Fatal(err)
	}
	for _, key := range keys.Keys {
		if key.Agent == "bob" {
			seen["bob's key"] = fmt.Sprint(key.KeyID, key.Proof, key.Trusted)
		}
	}
	report, err := hubapi.Call(u.t.Context(), u.h.Client(), wire.VerifyAudit, wire.None{})
	if err != nil || !report.OK {
		u.t.Errorf("the trail is not intact: %+v, %v", report, err)
	}
	machines, err := hubapi.Machines(u.t.Context(), u.h.Client(), wire.MachineQuery{})
	if err != nil {
		u.t.Fatal(err)
	}
	for _, m := range machines {
		seen["machines"] += m.ID + " "
	}
	return seen
}

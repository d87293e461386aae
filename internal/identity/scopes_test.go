package identity_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"parley.internal/internal/identity"
)

func TestNamesExpand(t *testing.T) {
	for names, want := range map[string]string{
		"":                      "",
		"nonsense":              "",
		"task:read":             "task:read",
		"task:*":                "task:control task:read task:submit",
		"task":                  "task:control task:read task:submit",
		"tasks":                 "task:control task:read task:submit",
		"tasks:*":               "task:control task:read task:submit",
		"approval:respond":      "approval:read approval:respond",
		"terminal:write":        "terminal:read terminal:write",
		"terminal:create":       "terminal:create terminal:read terminal:write",
		"terminals":             "terminal:create terminal:read terminal:write",
		"status":                "status:read",
		"devices":               "device:manage",
		"fleet":                 "fleet:admin fleet:call fleet:read fleet:sensitive",
		"fleet:*":               "fleet:admin fleet:call fleet:read fleet:sensitive",
		"fleet:unattended":      "fleet:unattended",
		"task:unattended":       "task:unattended",
		"room":                  "rooms",
		"rooms":                 "rooms",
		"places":                "place",
		"talk":                  "talk",
		"talk:admin":            "talk talk:admin",
		"talk:*":                "talk talk:admin",
		"talk:sender:tg:*":      "talk:sender:tg:*",
		"audit":                 "audit:read",
		"operator.read":         "approval:read audit:read fleet:read status:read task:read terminal:read",
		"operator.write":        "task:control task:submit terminal:read terminal:write",
		"operator.approvals":    "approval:read approval:respond",
		"operator.pairing":      "device:manage",
		"machine:pc-1":          "machine:pc-1",
		"machine:":              "",
		"tag:a b":               "",
		"task:read,task:submit": "",
		"TASK:READ":             "",
		"node":                  "node:register",
		"agents":                "agents:manage",
		"agents:*":              "agents:manage",
	} {
		var in []string
		if names != "" {
			in = []string{names}
		}
		if diff := cmp.Diff(strings.Fields(want), identity.Expand(in...).Sorted()); diff != "" {
			t.Errorf("%q: %s; want no difference", names, diff)
		}
	}
}

func TestNoAskingIsGivenByNameOnly(t *testing.T) {
	for _, name := range []string{"*", "task", "tasks", "task:*", "fleet", "fleet:*", "operator.write"} {
		got := identity.Expand(name)
		if got.Has(identity.TaskUnattended) || got.Has(identity.FleetUnattended) {
			t.Errorf("%s gives %v", name, got.Sorted())
		}
	}
	admin := identity.Expand("operator.admin")
	if !admin.Has(identity.TaskUnattended) || admin.Has(identity.FleetUnattended) {
		t.Errorf("admin gives %v", admin.Sorted())
	}
}

// A star was "all but admin" and held everybody's conversations, the programs
// that tool servers start, and a shell.
func TestAStarIsEverydayWork(t *testing.T) {
	star := identity.Expand("*")
	for _, scope := range []string{"admin", "talk:admin", "agents:manage", "fleet:admin", "terminal:create", "task:unattended", "fleet:unattended"} {
		if star.Has(scope) {
			t.Errorf("* holds %s, which is given by name", scope)
		}
		if !identity.Expand(scope).Has(scope) {
			t.Errorf("%s cannot be given by name", scope)
		}
	}
	for _, scope := range []string{"talk", "task:submit", "terminal:write", "fleet:call", "rooms", "place", "audit:read", "device:manage"} {
		if !star.Has(scope) {
			t.Errorf("* lacks %s, which is everyday work", scope)
		}
	}
	admin := identity.Expand("admin")
	for _, scope := range star.Without(identity.NodeRegister).Sorted() {
		if !admin.Has(scope) {
			t.Errorf("admin lacks %s", scope)
		}
	}
}

func TestCoversIsAboutScopesMachinesAndSenders(t *testing.T) {
	for _, c := range []struct {
		wide, narrow string
		want         bool
	}{
		{"admin", "task,talk:admin,agents,fleet,terminal,task:unattended", true},
		{"admin", "talk:sender:tg:*,machine:a,fleet", true},
		{"admin", "fleet:unattended", false},
		{"*", "talk:admin", false},
		{"*", "", true},
		{"", "task:read", false},
		{"task", "task:read", true},
		{"fleet,machine:a", "fleet,machine:a", true},
		{"fleet,machine:a", "fleet", false},
		{"fleet,machine:a", "fleet,machine:b", false},
		{"fleet,machine:a,machine:b", "fleet,machine:a", true},
		{"fleet,machine:a,admin", "admin", false},
		{"talk,fleet,machine:a", "talk", true},
		{"talk:sender:tg:*", "talk:sender:tg:7", true},
		{"talk:sender:tg:7", "talk:sender:tg:*", false},
		{"talk:admin", "talk:sender:*", true},
		{"talk:sender:*", "talk:admin", false},
	} {
		wide, narrow := identity.Expand(strings.Split(c.wide, ",")...), identity.Expand(strings.Split(c.narrow, ",")...)
		if got := wide.Covers(narrow); got != c.want {
			t.Errorf("%q covers %q: %v, want %v", c.wide, c.narrow, got, c.want)
		}
	}
}

func TestAGrantIsWhatWasAskedAndMayBeGiven(t *testing.T) {
	admin := identity.Expand("admin")
	for name, c := range map[string]struct {
		requested  []string
		credential identity.Scopes
		role       identity.Role
		want       string
	}{
		"admin narrows":             {[]string{"task:read"}, admin, "operator", "task:read"},
		"nothing asked":             {nil, admin, "operator", ""},
		"unknown left out":          {[]string{"task:fly", "status:read"}, admin, "operator", "status:read"},
		"credential bounds":         {[]string{"*"}, identity.Expand("task:read", "terminal:write"), "operator", "task:read terminal:read terminal:write"},
		"unattended must be named":  {[]string{"task:*"}, admin, "operator", "task:control task:read task:submit"},
		"named":                     {[]string{"task:unattended"}, admin, "operator", "task:unattended"},
		"node gets register":        {[]string{"*"}, identity.Expand("node"), "node", "node:register"},
		"node never gets more":      {[]string{"task:submit"}, admin, "node", ""},
		"operator is no node":       {[]string{"*"}, identity.Expand("node", "place"), "operator", "place"},
		"limits cannot be dropped":  {[]string{"fleet:read"}, identity.Expand("fleet", "machine:a", "tag:b"), "operator", "fleet:read machine:a tag:b"},
		"limits can be added":       {[]string{"fleet:read", "machine:a"}, admin, "operator", "fleet:read machine:a"},
		"limits meet":               {[]string{"fleet:read", "machine:a", "machine:c"}, identity.Expand("fleet", "machine:a", "tag:b"), "operator", "fleet:read machine:a"},
		"limits that share nothing": {[]string{"admin", "place", "machine:c"}, identity.Expand("admin", "machine:a"), "operator", identity.Expand("admin").Without("admin").Without("fleet:read").Without("fleet:call").Without("fleet:admin").Without("fleet:sensitive").String()},
		"sender narrower":           {[]string{"talk:sender:tg:12*"}, identity.Expand("talk:sender:tg:*"), "operator", "talk:sender:tg:12*"},
		"sender wider":              {[]string{"talk:sender:*"}, identity.Expand("talk:sender:tg:*"), "operator", "talk:sender:tg:*"},
		"sender other":              {[]string{"talk:sender:sms:*"}, identity.Expand("talk:sender:tg:*"), "operator", ""},
		"sender of talk admin":      {[]string{"talk:sender:tg:*"}, identity.Expand("talk:admin"), "operator", "talk:sender:tg:*"},
		"star of a gateway":         {[]string{"*"}, identity.Expand("talk:sender:tg:*"), "operator", ""},
		"operator.read of few":      {[]string{"operator.read"}, identity.Expand("task", "fleet:read"), "operator", "fleet:read task:read"},
	} {
		t.Run(name, func(t *testing.T) {
			want := strings.FieldsFunc(c.want, func(r rune) bool { return r == ' ' || r == ',' })
			if diff := cmp.Diff(want, identity.Grant(c.requested, c.credential, c.role).Sorted(), cmp.Transformer("empty", func(s []string) []string { return append([]string{}, s...) })); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMachineLimits(t *testing.T) {
	limited := identity.Expand("fleet", "machine:pc-1", "tag:lab")
	for _, c := range []struct {
		id   string
		tags []string
		want bool
	}{{"pc-1", nil, true}, {"pc-2", nil, false}, {"pc-2", []string{"x", "lab"}, true}, {"lab", nil, false}} {
		if got := limited.AllowsMachine(c.id, c.tags); got != c.want {
			t.Errorf("%s %v: %v; want %v", c.id, c.tags, got, c.want)
		}
	}
	if free := identity.Expand("fleet"); !free.AllowsMachine("any", nil) || free.Limited() || !limited.Limited() {
		t.Error("without limits every machine is reached")
	}
}

func TestSenders(t *testing.T) {
	for _, c := range []struct {
		scope, sender string
		want          bool
	}{
		{"talk", "user", true},
		{"talk", "alice", false},
		{"talk:admin", "alice", true},
		{"talk:sender:tg:*", "tg:1", true},
		{"talk:sender:tg:*", "tg", false},
		{"talk:sender:tg:*", "user", false},
		{"talk:sender:tg:7", "tg:7", true},
		{"talk:sender:tg:7", "tg:77", false},
		{"task", "user", false},
	} {
		if got := identity.Expand(c.scope).AllowsSender(c.sender, "user"); got != c.want {
			t.Errorf("%s as %s: %v", c.scope, c.sender, got)
		}
	}
}

func TestScopesAreAJSONArray(t *testing.T) {
	data, err := json.Marshal(identity.Scopes{})
	if err != nil || string(data) != "[]" {
		t.Errorf("%s, %v; want no error, string(data) to be \"[]\"", data, err)
	}
	var s identity.Scopes
	if err := json.Unmarshal([]byte(`["approvals"]`), &s); err != nil || s.String() != "approval:read,approval:respond" {
		t.Errorf("%v, %v; want no error, s.String() to be \"approval:read,approval:respond\"", s, err)
	}
	if diff := cmp.Diff([]string{"no", "task:fly"}, identity.UnknownScopes("no", "task", "task:fly", "machine:x")); diff != "" {
		t.Error(diff)
	}
}

// names draws scope names, real and odd.
var names = rapid.SliceOf(rapid.SampledFrom([]string{
	"*", "task", "task:read", "task:submit", "task:unattended", "approvals", "approval:respond", "terminal:create", "terminal:read",
	"status:read", "fleet", "fleet:call", "fleet:unattended", "rooms", "talk", "talk:admin", "agents:manage", "talk:sender:a*", "talk:sender:ab*",
	"talk:sender:b", "machine:a", "machine:b", "tag:x", "admin", "node:register", "bogus", "operator.write",
}))

func TestNoSequenceOfGrantsWidens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		credential := identity.Expand(names.Draw(t, "credential")...)
		grant := credential
		for range rapid.IntRange(1, 4).Draw(t, "steps") {
			next := identity.Grant(names.Draw(t, "request"), grant, identity.RoleOperator)
			for _, scope := range next.Sorted() {
				plain := !strings.HasPrefix(scope, "talk:sender:") && !strings.HasPrefix(scope, "machine:") && !strings.HasPrefix(scope, "tag:")
				if plain && !grant.Has(scope) {
					t.Fatalf("%s appeared", scope)
				}
			}
			for _, machine := range []string{"a", "b", "c"} {
				reach := func(s identity.Scopes) bool {
					return s.Has(identity.FleetCall) && s.AllowsMachine(machine, []string{"x"}[:len(machine)&1])
				}
				if reach(next) && !reach(grant) {
					t.Fatalf("machine %s came into reach: %v from %v", machine, next, grant)
				}
			}
			for _, sender := range []string{"user", "a", "ab", "abc", "b", "c"} {
				if next.AllowsSender(sender, "user") && !grant.AllowsSender(sender, "user") {
					t.Fatalf("sender %s came into reach: %v from %v", sender, next, grant)
				}
			}
			if !grant.Covers(next) {
				t.Fatalf("%v does not cover what came from it: %v", grant, next)
			}
			if !slices.IsSorted(next.Sorted()) || !identity.Expand(next.Sorted()...).Equal(next) {
				t.Fatalf("a grant is explicit and sorted: %v", next)
			}
			grant = next
		}
	})
}

package fleet_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/internal/fleet"
	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/protocol/kenny"
)

func rule(id, pattern string) kenny.Rule {
	return kenny.Rule{ID: id, AppliesTo: kenny.AppliesPowerShell, Pattern: pattern, Reason: "house rule"}
}

func TestRulesAreInForceAtOnceAndOnEveryMachine(t *testing.T) {
	onBoth(t, func(t *testing.T, db *store.DB) {
		w := newWorld(t, setup{db: db})
		m := w.join("pc").echoes()
		run := func() error { _, err := w.call(op(), "pc", "shell_exec", `{"script":"choco install"}`); return err }
		check(t, run())
		got := must(w.fleet.AddRule(t.Context(), op(), rule("op.choco", "(?i)choco")))(t)
		if len(got.Operator) != 1 || got.Revision != 1 || len(got.Builtin) < 10 || got.Builtin[0].Class == "" {
			t.Errorf("%+v", got.Operator)
		}
		if e := wantCode(t, run(), fault.Blocked); !strings.Contains(e.Message, "[op.choco]") || !strings.Contains(e.Message, "house rule") {
			t.Errorf("e is %v; want \"[op.choco]\" in it, \"house rule\" in it", e)
		}
		if n, p := m.policies(); n != 2 || len(p.Rules) != 1 || p.Rules[0].ID != "op.choco" {
			t.Errorf("%d policies, %+v", n, p)
		}
		must(w.fleet.AddRule(t.Context(), op(), rule("op.choco", "something else")))(t) // the same id replaces
		check(t, run())
		if _, p := m.policies(); len(p.Rules) != 1 || p.Rules[0].Pattern != "something else" {
			t.Errorf("%+v; want len(p.Rules) to be 1, p.Rules[0].Pattern to be \"something else\"", p)
		}
		if removed := must(w.fleet.RemoveRule(t.Context(), op(), "op.choco"))(t); !removed {
			t.Error("not removed")
		}
		if removed := must(w.fleet.RemoveRule(t.Context(), op(), "op.choco"))(t); removed {
			t.Error("removed twice")
		}
		if _, p := m.policies(); len(p.Rules) != 0 {
			t.Errorf("%+v; want len(p.Rules) to be 0", p)
		}
		w.stop()
		again := newWorld(t, setup{db: db, key: w.key})
		if r := must(again.fleet.Rules(t.Context(), op()))(t); r.Revision != 3 || len(r.Operator) != 0 {
			t.Errorf("%+v; want r.Revision to be 3, len(r.Operator) to be 0", r)
		}
	})
}

func TestBadRulesAreRefused(t *testing.T) {
	w := newWorld(t, setup{})
	builtin := must(w.fleet.Rules(t.Context(), op()))(t).Builtin[0].ID
	for name, r := range map[string]kenny.Rule{
		"bad id":      rule("Bad ID", "x"),
		"built-in id": rule(builtin, "x"),
		"no pattern":  rule("a", ""),
		"long":        rule("a", strings.Repeat("x", 1025)),
		"no regexp":   rule("a", "(unclosed"),
		"lookaround":  rule("a", "(?=x)"),
		"kind":        {ID: "a", AppliesTo: "shell", Pattern: "x", Reason: "y"},
		"no reason":   {ID: "a", AppliesTo: kenny.AppliesPath, Pattern: "x"},
	} {
		_, err := w.fleet.AddRule(t.Context(), op(), r)
		if fault.CodeOf(err) != fault.BadArgs {
			t.Errorf("%s: %v; want fault.CodeOf(err) to be %v", name, err, fault.BadArgs)
		}
	}
	_, err := w.fleet.AddRule(t.Context(), as(identity.AtAPI, identity.FleetCall), rule("a", "x"))
	wantCode(t, err, fault.Forbidden)
	if r := must(w.fleet.Rules(t.Context(), op()))(t); r.Revision != 0 {
		t.Errorf("%+v; want r.Revision to be 0", r)
	}
}

// A rule of an older hub that does not compile here must not take its neighbours
// with it.
func TestABadPatternIsSkippedAndItsNeighbourHolds(t *testing.T) {
	w := newWorld(t, setup{})
	check(t, w.db.Write(t.Context(), func(tx *store.Tx) error {
		for _, p := range []string{"(?<bad", "choco"} {
			if _, err := tx.Exec(`INSERT INTO fleet_rules (id, applies_to, pattern, reason, revision) VALUES (?, 'powershell', ?, 'r', 1)`, "op."+p[:3], p); err != nil {
				return err
			}
		}
		return nil
	}))
	w.stop()
	again := newWorld(t, setup{db: w.db, key: w.key})
	again.join("pc").echoes()
	_, err := again.call(op(), "pc", "shell_exec", `{"script":"choco"}`)
	wantCode(t, err, fault.Blocked)
	_, err = again.call(op(), "pc", "shell_exec", `{"script":"true"}`)
	check(t, err)
}

func TestTheMirrorLeavesUpdatesAloneAndCanBeSwitchedOff(t *testing.T) {
	w := newWorld(t, setup{})
	m := w.join("pc").echoes()
	must(w.fleet.AddRule(t.Context(), op(), rule("all", ".")))(t)
	args := `{"version":"2","url":"https://evil.example/x","sha256":"` + strings.Repeat("a", 64) + `"}`
	if _, err := w.call(op(), "pc", "agent_update", args); err != nil {
		t.Errorf("the machine decides about updates: %v", err)
	}
	off := newWorld(t, setup{deps: func(d *fleet.Deps) { d.NoMirror = true }})
	off.join("pc").answers(func(*kenny.Request) (jsontext.Value, *kenny.Error) {
		return nil, &kenny.Error{Code: "blocked", Message: "refused by the safety guard: no [x]"}
	})
	_, err := off.call(op(), "pc", "shell_exec", `{"script":"rm -rf /"}`)
	if e := wantCode(t, err, fault.Blocked); !e.FromMachine {
		t.Error("the mirror answered")
	}
	_ = m
}

func TestRulesCanBeTriedBeforeTheyAreSaved(t *testing.T) {
	w := newWorld(t, setup{})
	draft := rule("draft", "choco")
	_, hit, err := w.fleet.TestRule(t.Context(), op(), fleet.RuleTest{OS: kenny.Linux, Tool: "shell_exec", Args: jsontext.Value(`{"script":"choco"}`), Rule: &draft})
	if err != nil || !hit {
		t.Error(hit, err)
	}
	_, hit, err = w.fleet.TestRule(t.Context(), op(), fleet.RuleTest{OS: kenny.Linux, Tool: "shell_exec", Args: jsontext.Value(`{"script":"choco"}`)})
	if err != nil || hit {
		t.Error(hit, err)
	}
}

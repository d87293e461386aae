package fleet

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/internal/audit"
	"parley.internal/internal/fit"
	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/protocol/kenny"
	"parley.internal/protocol/kenny/policy"
	"parley.internal/protocol/rest"
)

// Rules are the deny rules in force.
type Rules = rest.Rules

// RuleView is a rule as people see it.
type RuleView = rest.Rule

// RuleTest asks whether the mirror would refuse a call.
type RuleTest struct {
	OS   kenny.OS
	Tool string
	Args jsontext.Value
	// Rule, if given, is tried beside those in force.
	Rule *kenny.Rule
}

// ruleSet is the deny rules in force on this hub. It never changes; a change makes
// a new one.
type ruleSet struct {
	set      *policy.Set
	operator []kenny.Rule
	revision int64
	once     sync.Once
	encoded  []byte
}

// frame is the policy frame of these rules, encoded once for all machines.
func (r *ruleSet) frame() []byte {
	r.once.Do(func() {
		rules := r.operator
		if rules == nil {
			rules = []kenny.Rule{}
		}
		r.encoded = mustEncode(&kenny.Policy{Rules: rules})
	})
	return r.encoded
}

// loadRules reads the operator's rules and puts them in force.
func (f *Fleet) loadRules(ctx context.Context) error {
	next := &ruleSet{}
	err := f.d.DB.Read(ctx, func(tx *store.Tx) (err error) {
		next.operator, next.revision, err = readRules(tx)
		return err
	})
	if err != nil {
		return fmt.Errorf("reading the rules: %w", err)
	}
	f.enforce(next)
	return nil
}

func readRules(tx *store.Tx) (rules []kenny.Rule, revision int64, err error) {
	err = tx.Each(func(row *sql.Rows) error {
		var r kenny.Rule
		err := row.Scan(&r.ID, &r.AppliesTo, &r.Pattern, &r.Reason)
		rules = append(rules, r)
		return err
	}, `SELECT id, applies_to, pattern, reason FROM fleet_rules ORDER BY revision, id`)
	if err != nil {
		return nil, 0, err
	}
	err = tx.QueryRow(`SELECT value FROM fleet_counters WHERE name = 'rules'`).Scan(&revision)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return rules, revision, err
}

// enforce puts rules in force here and sends them to every machine of this hub.
func (f *Fleet) enforce(next *ruleSet) {
	set, skipped := f.builtin.WithOperator(next.operator)
	for _, s := range skipped {
		f.d.Log.Warn("an operator's rule does not compile and is skipped", "rule", s.Rule.ID, "error", s.Err)
	}
	next.set = set
	for {
		now := f.rules.Load()
		if now.revision > next.revision {
			return // somebody was faster with something newer
		}
		if f.rules.CompareAndSwap(now, next) {
			break
		}
	}
	for _, m := range f.all() {
		if s := m.current(); s != nil {
			s.sendPolicy()
		}
	}
}

// Rules lists the rules in force.
func (f *Fleet) Rules(_ context.Context, who identity.Actor) (Rules, error) {
	if err := may(who, identity.FleetRead); err != nil {
		return Rules{}, err
	}
	return f.rules.Load().view(), nil
}

func (r *ruleSet) view() Rules {
	out := Rules{Builtin: []RuleView{}, Operator: []RuleView{}, Revision: r.revision}
	for _, rule := range r.set.Rules() {
		if rule.Builtin {
			out.Builtin = append(out.Builtin, RuleView{ID: rule.ID, AppliesTo: rule.AppliesTo, Class: rule.Class, Pattern: rule.Pattern, Reason: rule.Reason})
		}
	}
	for _, rule := range r.operator {
		out.Operator = append(out.Operator, RuleView{ID: rule.ID, AppliesTo: rule.AppliesTo, Pattern: rule.Pattern, Reason: rule.Reason})
	}
	return out
}

// AddRule adds an operator's rule, or replaces that of the same id. It is in force
// in the mirror when this returns.
func (f *Fleet) AddRule(ctx context.Context, who identity.Actor, r kenny.Rule) (Rules, error) {
	if err := may(who, identity.FleetAdmin); err != nil {
		return Rules{}, err
	}
	if err := f.builtin.Validate(r); err != nil {
		return Rules{}, fault.Errorf(fault.BadArgs, "%w", err)
	}
	next, err := f.changeRules(ctx, func(tx *store.Tx, revision int64) error {
		_, err := tx.Exec(`INSERT INTO fleet_rules (id, applies_to, pattern, reason, revision) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (id) DO UPDATE SET applies_to = excluded.applies_to, pattern = excluded.pattern, reason = excluded.reason`,
			r.ID, r.AppliesTo, fit.Storable(r.Pattern), fit.Storable(r.Reason), revision)
		if err != nil {
			return err
		}
		return f.d.Audit.AppendTx(tx, audit.Entry{
			Actor: who.String(), Action: audit.FleetRuleAdded, Target: r.ID,
			Detail: map[string]any{"applies_to": string(r.AppliesTo), "pattern": r.Pattern, "reason": r.Reason},
		})
	})
	if err != nil {
		return Rules{}, err
	}
	return next.view(), nil
}

var errTooManyRules = errors.New("too many rules")

// changeRules makes one change in a transaction that also counts the revision, and
// puts it in force everywhere.
func (f *Fleet) changeRules(ctx context.Context, change func(tx *store.Tx, revision int64) error) (*ruleSet, error) {
	next := &ruleSet{}
	err := f.d.DB.Write(ctx, func(tx *store.Tx) error {
		revision, err := bump(tx, "rules")
		if err != nil {
			return err
		}
		if err := change(tx, revision); err != nil {
			return err
		}
		next.operator, next.revision, err = readRules(tx)
		if err != nil {
			return err
		}
		if _, err := kenny.Encode(&kenny.Policy{Rules: slices.Clone(next.operator)}); err != nil {
			return errTooManyRules
		}
		return nil
	})
	if errors.Is(err, errTooManyRules) {
		return nil, fault.Errorf(fault.BadArgs, "a machine takes at most %d rules of %d bytes together", kenny.MaxRules, kenny.MaxPolicy)
	}
	if err != nil {
		return nil, err
	}
	f.enforce(next)
	f.cluster.publish(news{Rules: next.revision})
	f.events.Hub("", kenny.LevelInfo, "policy", "the operator's rules changed", map[string]any{"revision": next.revision})
	return f.rules.Load(), nil
}

// bump counts a counter up and returns it.
func bump(tx *store.Tx, name string) (n int64, err error) {
	err = tx.QueryRow(`INSERT INTO fleet_counters (name, value) VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET value = fleet_counters.value + 1 RETURNING value`, name).Scan(&n)
	return n, err
}

// RemoveRule takes an operator's rule away; a missing one is no error.
func (f *Fleet) RemoveRule(ctx context.Context, who identity.Actor, id string) (removed bool, err error) {
	if err := may(who, identity.FleetAdmin); err != nil {
		return false, err
	}
	if !slices.ContainsFunc(f.rules.Load().operator, func(r kenny.Rule) bool { return r.ID == id }) {
		return false, nil
	}
	_, err = f.changeRules(ctx, func(tx *store.Tx, _ int64) error {
		n, err := tx.Exec(`DELETE FROM fleet_rules WHERE id = ?`, id)
		removed = n > 0
		if err != nil || !removed {
			return err
		}
		return f.d.Audit.AppendTx(tx, audit.Entry{Actor: who.String(), Action: audit.FleetRuleRemoved, Target: id})
	})
	return removed, err
}

// TestRule tells which rule, if any, would refuse a call.
func (f *Fleet) TestRule(_ context.Context, who identity.Actor, t RuleTest) (policy.Rule, bool, error) {
	if err := may(who, identity.FleetRead); err != nil {
		return policy.Rule{}, false, err
	}
	if _, ok := kenny.Lookup(t.Tool); !ok {
		return policy.Rule{}, false, fault.Errorf(fault.UnknownTool, "there is no tool %q", fault.Quotable(t.Tool))
	}
	set := f.rules.Load().set
	if t.Rule != nil {
		if err := f.builtin.Validate(*t.Rule); err != nil {
			return policy.Rule{}, false, fault.Errorf(fault.BadArgs, "%w", err)
		}
		set, _ = f.builtin.WithOperator(append(slices.Clone(f.rules.Load().operator), *t.Rule))
	}
	if t.Args == nil {
		t.Args = jsontext.Value("{}")
	}
	rule, hit := set.CheckCall(t.OS, t.Tool, t.Args)
	return rule, hit, nil
}

// mirror refuses what the guard on the machine would refuse anyway.
func (f *Fleet) mirror(os kenny.OS, tool string, args jsontext.Value) *fault.Error {
	if f.d.NoMirror {
		return nil
	}
	if rule, hit := f.rules.Load().set.CheckCall(os, tool, args); hit {
		return &fault.Error{Code: fault.Blocked, Message: rule.Refusal()}
	}
	return nil
}

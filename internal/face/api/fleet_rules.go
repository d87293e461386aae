package api

import (
	"context"

	"parley.internal/internal/fleet"
	"parley.internal/internal/identity"
	"parley.internal/protocol/kenny"
	"parley.internal/protocol/rest"
)

func (fr fleetRoutes) ruleRoutes() {
	serve(fr, identity.FleetRead, rest.ListRules, fr.rules)
	serve(fr, identity.FleetAdmin, rest.AddRule, fr.addRule)
	serve(fr, identity.FleetAdmin, rest.RemoveRule, fr.removeRule)
	serve(fr, identity.FleetRead, rest.TestRule, fr.testRule)
}

func (fr fleetRoutes) rules(ctx context.Context, who identity.Actor, _ *rest.None) (rest.Rules, error) {
	return fr.fleet.Rules(ctx, who)
}

func (fr fleetRoutes) addRule(ctx context.Context, who identity.Actor, in *kenny.Rule) (rest.Rules, error) {
	return fr.fleet.AddRule(ctx, who, *in)
}

func (fr fleetRoutes) removeRule(ctx context.Context, who identity.Actor, in *rest.ByID) (rest.Removed, error) {
	removed, err := fr.fleet.RemoveRule(ctx, who, in.ID)
	return rest.Removed{OK: true, Removed: removed}, err
}

func (fr fleetRoutes) testRule(ctx context.Context, who identity.Actor, in *rest.RuleTest) (rest.RuleVerdict, error) {
	rule, hit, err := fr.fleet.TestRule(ctx, who, fleet.RuleTest(*in))
	if err != nil || !hit {
		return rest.RuleVerdict{}, err
	}
	return rest.RuleVerdict{
		Blocked: true, Message: rule.Refusal(),
		Rule: &rest.Rule{ID: rule.ID, AppliesTo: rule.AppliesTo, Class: rule.Class, Pattern: rule.Pattern, Reason: rule.Reason},
	}, nil
}

package api

import (
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/fleet"
	"parley/internal/identity"
	"parley/protocol/kenny"
)

func (fr fleetRoutes) ruleRoutes() {
	fr.json("GET", "/api/fleet/policy/rules", identity.FleetRead, "The deny rules in force: {builtin, operator, revision}", fr.rules)
	fr.json("POST", "/api/fleet/policy/rules", identity.FleetAdmin, "Add a rule, or replace that of the same id: {id, applies_to, pattern, reason}", fr.addRule)
	fr.json("DELETE", "/api/fleet/policy/rules/{id}", identity.FleetAdmin, "Remove a rule; a missing one is no error", fr.removeRule)
	fr.json("POST", "/api/fleet/policy/test", identity.FleetRead, "Would a call be refused: {os, tool, args, rule?}", fr.testRule)
}

func (fr fleetRoutes) rules(r *http.Request, who identity.Actor) (int, any, error) {
	v, err := fr.fleet.Rules(r.Context(), who)
	return http.StatusOK, v, err
}

func (fr fleetRoutes) addRule(r *http.Request, who identity.Actor) (int, any, error) {
	var rule kenny.Rule
	if err := readFleetBody(r, &rule); err != nil {
		return 0, nil, err
	}
	v, err := fr.fleet.AddRule(r.Context(), who, rule)
	return http.StatusOK, v, err
}

func (fr fleetRoutes) removeRule(r *http.Request, who identity.Actor) (int, any, error) {
	removed, err := fr.fleet.RemoveRule(r.Context(), who, r.PathValue("id"))
	return http.StatusOK, map[string]any{"ok": true, "removed": removed}, err
}

func (fr fleetRoutes) testRule(r *http.Request, who identity.Actor) (int, any, error) {
	var body struct {
		OS   kenny.OS       `json:"os"`
		Tool string         `json:"tool"`
		Args jsontext.Value `json:"args"`
		Rule *kenny.Rule    `json:"rule"`
	}
	if err := readFleetBody(r, &body); err != nil {
		return 0, nil, err
	}
	rule, hit, err := fr.fleet.TestRule(r.Context(), who, fleet.RuleTest{OS: body.OS, Tool: body.Tool, Args: body.Args, Rule: body.Rule})
	if err != nil || !hit {
		return http.StatusOK, map[string]any{"blocked": false}, err
	}
	return http.StatusOK, map[string]any{
		"blocked": true, "message": rule.Refusal(),
		"rule": fleet.RuleView{ID: rule.ID, AppliesTo: rule.AppliesTo, Class: rule.Class, Pattern: rule.Pattern, Reason: rule.Reason},
	}, nil
}

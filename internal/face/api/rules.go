package api

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/internal/approval"
	"parley.internal/internal/identity"
	"parley.internal/internal/judge/rule"
	"parley.internal/protocol/rest"
)

// RegisterRules adds the standing rules of people.
func RegisterRules(a *API, inbox *approval.Inbox, rules *rule.Rules) {
	r, own := ruleRoutes{inbox, rules}, access{Scope: identity.ApprovalRespond, Tag: "inbox"}
	add(a, access{Scope: identity.ApprovalRead, Tag: "inbox"}, rest.ListStandingRules, r.list)
	addBody(a, own, rest.MakeStandingRule, r.make)
	addBody(a, own, rest.TryStandingRule, r.try)
	add(a, own, rest.RevokeStandingRule, r.revoke)
}

type ruleRoutes struct {
	inbox *approval.Inbox
	rules *rule.Rules
}

func viewRule(r rule.Rule) rest.StandingRule {
	return rest.StandingRule{
		ID: r.ID, Words: r.Words(), Owner: r.OwnerName, Agent: r.Agent, Tool: r.Tool, Arguments: viewPattern(r.Arguments), Folder: r.Folder,
		Read: r.Read, Write: r.Write, Hosts: r.Hosts, Machines: r.Machines, Created: r.Created, Until: r.Until, Uses: r.Uses, Used: r.Used, UsedAt: r.UsedAt, Approval: r.Question,
	}
}

func viewPattern(p rule.Pattern) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for name, value := range p {
		out[name] = json.RawMessage(value)
	}
	return out
}

func (r ruleRoutes) list(ctx context.Context, who identity.Actor, _ *rest.None) (rest.StandingRules, error) {
	found, err := r.rules.List(ctx, who)
	return rest.StandingRules{Rules: each(found, viewRule)}, err
}

func (r ruleRoutes) make(ctx context.Context, who identity.Actor, in *rest.RuleRequest) (rest.StandingRule, error) {
	draft, err := r.draft(ctx, who, in)
	if err != nil {
		return rest.StandingRule{}, err
	}
	made, err := r.rules.Make(ctx, who, draft)
	return viewRule(made), err
}

// try tells the rule as it would be made, and makes none.
func (r ruleRoutes) try(ctx context.Context, who identity.Actor, in *rest.RuleRequest) (rest.RuleTrial, error) {
	draft, err := r.draft(ctx, who, in)
	if err != nil {
		return rest.RuleTrial{}, err
	}
	if draft, _, err = r.rules.Prepare(ctx, who, draft); err != nil {
		return rest.RuleTrial{}, err
	}
	asked, err := r.inbox.List(ctx, approval.Filter{Principal: who.Person.ID, Kind: approval.KindTool, Limit: rule.Tried})
	t := draft.Try(asked)
	return rest.RuleTrial{Words: draft.Words(), Asked: t.Asked, Answered: t.Answered, Refused: t.Refused}, err
}

func (r ruleRoutes) revoke(ctx context.Context, who identity.Actor, in *rest.ByID) (rest.None, error) {
	return rest.None{}, r.rules.Revoke(ctx, who, in.ID)
}

// draft reads a rule: from a question that the caller sees, or part by part.
func (r ruleRoutes) draft(ctx context.Context, who identity.Actor, in *rest.RuleRequest) (rule.Rule, error) {
	if in.Approval != "" {
		item, err := r.inbox.Get(ctx, who, in.Approval)
		if err != nil {
			return rule.Rule{}, err
		}
		return ruleFrom(item, in.RuleTerms)
	}
	draft := rule.Rule{
		Agent: in.Agent, Tool: in.Tool, Folder: in.Folder, Reach: rule.Reach{Read: in.Read, Write: in.Write, Hosts: in.Hosts, Machines: in.Machines},
	}
	return withTerms(draft, in.RuleTerms)
}

// ruleFrom is a question as a rule, on somebody's terms.
func ruleFrom(item approval.Item, terms rest.RuleTerms) (rule.Rule, error) {
	draft, err := rule.From(item)
	if err != nil {
		return rule.Rule{}, err
	}
	return withTerms(draft, terms)
}

func withTerms(r rule.Rule, terms rest.RuleTerms) (rule.Rule, error) {
	r.Until, r.Uses = terms.Until, terms.Uses
	if terms.Arguments != nil || r.Arguments == nil {
		r.Arguments = rule.Pattern{}
	}
	for name, value := range terms.Arguments {
		r.Arguments[name] = jsontext.Value(value)
	}
	if terms.Command == "" {
		return r, nil
	}
	name := rule.CommandOf(cmp.Or(r.Tool, "shell"))
	if name == "" {
		return r, fmt.Errorf("%w: %s runs no command", rule.ErrInvalid, r.Tool)
	}
	value, err := json.Marshal(terms.Command)
	r.Tool, r.Arguments[name] = cmp.Or(r.Tool, "shell"), jsontext.Value(value)
	return r, err
}

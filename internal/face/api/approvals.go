package api

import (
	"context"
	"fmt"

	"parley.internal/internal/approval"
	"parley.internal/internal/files"
	"parley.internal/internal/identity"
	"parley.internal/internal/judge/rule"
	"parley.internal/internal/visible"
	"parley.internal/protocol/rest"
)

// RegisterApprovals adds the one inbox.
func RegisterApprovals(a *API, inbox *approval.Inbox, rules *rule.Rules, kept *files.Store) {
	in := approvalRoutes{inbox, rules, kept}
	see := access{Scope: identity.ApprovalRead, Tag: "inbox"}
	add(a, see, rest.ListApprovals, in.list)
	add(a, see, rest.GetApproval, in.get)
	add(a, see, rest.ApprovalFiles, in.held)
	add(a, access{Scope: identity.ApprovalRespond, Tag: "inbox"}, rest.AnswerApproval, in.answer)
}

type approvalRoutes struct {
	inbox *approval.Inbox
	rules *rule.Rules
	files *files.Store
}

func viewAsker(a approval.Asker) *rest.Asker {
	if a == (approval.Asker{}) {
		return nil
	}
	v := a.Via
	out := &rest.Asker{
		Via: a.Words(), Token: v.TokenID, Page: v.PageID, Device: v.Device, Client: visible.Line(v.Client), Where: string(v.Where), Agent: v.Agent, Run: v.Run, Address: v.Address,
	}
	if a.Person.ID != "" {
		out.Person = a.Person.String()
	}
	return out
}

func viewApproval(i approval.Item) rest.Approval {
	out := rest.Approval{
		ID: i.ID, Kind: i.Kind, Title: i.Title, Tool: i.Tool, Arguments: i.Arguments, Target: i.Target, Reason: i.Reason,
		RequestedBy: i.RequestedBy, OnBehalfOf: i.OnBehalfOf, Asker: viewAsker(i.Asker), Machines: i.Machines(), Tainted: (*rest.Taint)(i.Taint), NotAsker: i.Policy.NotAsker,
		Task: i.Task, Conversation: i.Conversation, MayRemember: i.MayRemember, Quorum: i.Quorum, Created: i.Created, Expires: i.Expires,
		Outcome: string(i.Outcome.State), By: i.Outcome.By, Answer: i.Outcome.Reason, Resolved: i.Outcome.At,
	}
	_, notRuled := rule.From(i)
	out.MayRule = notRuled == nil
	for _, q := range i.Questions {
		asked := rest.Question{Question: q.Question, Header: q.Header, MultiSelect: q.MultiSelect}
		for _, o := range q.Options {
			asked.Options = append(asked.Options, rest.Option(o))
		}
		out.Questions = append(out.Questions, asked)
	}
	return out
}

func (in approvalRoutes) list(ctx context.Context, who identity.Actor, q *rest.ApprovalQuery) (rest.Approvals, error) {
	f := approval.Filter{Principal: inboxOf(who), Limit: q.Limit}
	if q.State != "all" {
		f.States = []approval.State{approval.State(q.State)}
	}
	items, err := in.inbox.List(ctx, f)
	if err != nil {
		return rest.Approvals{}, err
	}
	return rest.Approvals{Approvals: each(items, viewApproval)}, nil
}

// inboxOf is whose inbox a caller sees: its own, or for an admin everybody's.
func inboxOf(who identity.Actor) string {
	if who.Admin() {
		return ""
	}
	return who.Person.ID
}

func (in approvalRoutes) get(ctx context.Context, who identity.Actor, q *rest.ByID) (rest.Approval, error) {
	item, err := in.inbox.Get(ctx, who, q.ID)
	return viewApproval(item), err
}

// held lists the caller's own files in what asks: who else is asked sees that somebody asks, and
// no file of another's.
func (in approvalRoutes) held(ctx context.Context, who identity.Actor, q *rest.ByID) (rest.Files, error) {
	item, err := in.inbox.Get(ctx, who, q.ID)
	if err != nil || sayer(who) != nil {
		return rest.Files{Files: []rest.File{}}, err
	}
	thing := files.Conversation(item.Conversation)
	if item.Task != "" {
		thing = files.Task(item.Task)
	}
	list, err := in.files.HeldFor(ctx, who, thing)
	return rest.Files{Files: each(list, viewFile)}, err
}

func (in approvalRoutes) answer(ctx context.Context, who identity.Actor, q *rest.ApprovalAnswer) (rest.Approval, error) {
	a := approval.Answer{Approved: q.Body.Approved, Reason: q.Body.Reason, Remember: q.Body.Remember, Answers: q.Body.Answers}
	if q.Body.Always != nil {
		if err := in.always(ctx, who, q, &a); err != nil {
			return rest.Approval{}, err
		}
	}
	result, err := in.inbox.Answer(ctx, who, q.ID, a)
	return viewApproval(result.Item), err
}

// always lets a yes make a rule, in the same transaction.
func (in approvalRoutes) always(ctx context.Context, who identity.Actor, q *rest.ApprovalAnswer, a *approval.Answer) error {
	item, err := in.inbox.Get(ctx, who, q.ID)
	if err != nil {
		return err
	}
	if !a.Approved {
		return fmt.Errorf("%w: only a yes becomes a rule", rule.ErrInvalid)
	}
	draft, err := ruleFrom(item, *q.Body.Always)
	if err != nil {
		return err
	}
	_, a.Also, err = in.rules.Prepare(ctx, who, draft)
	return err
}

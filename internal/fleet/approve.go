package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"parley.internal/internal/approval"
	"parley.internal/internal/fleet/call"
	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/identity"
	"parley.internal/internal/judge"
	"parley.internal/protocol/kenny"
)

// yesKey is what a hosted agent's yes to a sensitive tool holds for.
type yesKey struct{ run, machine, tool string }

// yesLife is how long it holds at most.
const yesLife = time.Hour

func (p *prepared) yesKey() yesKey {
	return yesKey{run: p.who.Run, machine: p.machine, tool: p.tool.Name}
}

// judged is what becomes of a call, whatever way it came.
func (f *Fleet) judged(p *prepared) judge.Verdict {
	c := judge.Call{Tool: p.tool.Name, Label: judge.ReadOnly, Class: judge.Reads, Unruled: p.unruled || p.queueFor > 0}
	switch p.tool.Class {
	case kenny.Sensitive:
		c.Label, c.Class, c.Why, c.Agreed = judge.Sensitive, judge.Shows, "may show private things of that machine", f.saidYes(p.yesKey())
	case kenny.Mutating:
		c.Label, c.Class, c.Why = judge.Mutating, judge.Changes, "changes that machine"
	}
	return f.d.Rules.Decide(p.who, c, judge.Setting{Where: p.who.Where, MCPUnasked: f.d.NoMCPApproval, Tainted: p.tainted, Stranger: p.stranger})
}

// WouldAsk tells whether a call would be asked about, and who could answer. What
// would be refused is not asked about.
func (f *Fleet) WouldAsk(who identity.Actor, req call.Request) (approval.Policy, bool) {
	p, refusal := f.prepare(who, req)
	if refusal != nil {
		return approval.Policy{}, false
	}
	v := f.judged(p)
	return p.answerable(v), v.Action == judge.Ask
}

// Declined implements API.
func (f *Fleet) Declined(who identity.Actor, req call.Request, why error) {
	if p, refusal := f.prepare(who, req); refusal == nil {
		f.logDeclined(p, why)
	}
}

// answerable says who may answer a question about a call: only who could make it, and
// whom a rule names.
func (p *prepared) answerable(v judge.Verdict) approval.Policy {
	right := &approval.Right{Scope: scopeOf(p.tool)}
	for _, m := range p.targets() {
		right.Machines = append(right.Machines, approval.Machine{ID: m.id, Tags: m.tags()})
	}
	policy := v.Need.Policy
	policy.Right = right
	return policy
}

// targets are the machines of a call: one, or those of a fan-out.
func (p *prepared) targets() []*machine {
	if p.fan != nil {
		return p.fan.targets
	}
	return []*machine{p.m}
}

func (f *Fleet) saidYes(k yesKey) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	until, ok := f.yes[k]
	return ok && k.run != "" && time.Now().Before(until)
}

func (f *Fleet) remember(p *prepared) {
	if p.who.Agent == "" || p.tool.Class != kenny.Sensitive || p.yesKey().run == "" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	for k, until := range f.yes {
		if now.After(until) {
			delete(f.yes, k)
		}
	}
	f.yes[p.yesKey()] = now.Add(yesLife)
}

// question is the call as a person sees it.
func (p *prepared) question() call.Question {
	q := call.Question{CallID: p.id, Class: p.tool.Class, Tool: p.tool.Name, Args: p.wire, Digest: p.digest}
	for _, m := range p.targets() {
		q.Machines = append(q.Machines, m.id)
	}
	q.Title = fmt.Sprintf("%s wants to use %s on %s", p.who.String(), p.tool.Name, p.where())
	return q
}

// where names the machine, or how many they are.
func (p *prepared) where() string {
	if p.fan != nil {
		return fmt.Sprintf("%d machines", len(p.fan.targets))
	}
	return p.machine
}

// ask has a person decide; nil is a yes. approval_pending says that the call goes on
// without its request, once somebody answers.
func (f *Fleet) ask(fl *underway, req call.Request, v judge.Verdict) error {
	p := fl.p
	if by := req.ApprovedBy; by != "" {
		return f.decided(p, "", call.Decision{Approved: true, By: by, How: "task"}, nil)
	}
	if f.d.Inbox != nil {
		if out, ok := f.d.Inbox.AnswerByRule(fl.ctx, f.asked(p, v)); ok {
			return f.decided(p, approvalID(p.id), call.Decision{Approved: true, By: out.By, How: "rule"}, nil)
		}
	}
	if req.Approver != nil && !v.Need.Bound() { // a rule may want others, or more than one
		d, err := req.Approver.Approve(fl.ctx, p.question())
		if !errors.Is(err, call.ErrAskInbox) {
			return f.decided(p, "", d, err)
		}
	}
	if f.d.Inbox == nil {
		return fault.Errorf(fault.Denied, "%s needs a person's approval and this hub has no inbox", p.tool.Name)
	}
	fl.set(call.StateAsking)
	pending, err := f.askInbox(fl.ctx, p, v)
	if err != nil {
		return err
	}
	if req.OnAsk != nil {
		q := p.question()
		q.ApprovalID = pending.ID()
		req.OnAsk(q)
	}
	return f.awaitInbox(fl, pending, req.ApprovalWait)
}

// decided takes an approver's answer over.
func (f *Fleet) decided(p *prepared, id string, d call.Decision, err error) error {
	switch {
	case err != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)):
		return fault.Errorf(fault.Cancelled, "the caller gave up before anybody answered; nothing ran")
	case err != nil:
		if own, ok := errors.AsType[*fault.Error](err); ok {
			return own // the approver knows better what is wrong
		}
		return fault.Errorf(fault.Denied, "nobody could be asked: %w", err)
	case !d.Approved:
		reason := "a person said no"
		if d.Reason != "" {
			reason += ": " + fault.Quotable(d.Reason)
		}
		return fault.Errorf(fault.Denied, "%s", reason)
	}
	p.approval = &call.Approval{ID: id, By: d.By, How: d.How}
	if !approval.ByRule(d.By) { // a rule's yes is for one call, not for the like of it
		f.remember(p)
	}
	return nil
}

// askInbox puts the question where people find it; the call itself is on disk, so
// that a yes is worth something after a restart.
func (f *Fleet) askInbox(ctx context.Context, p *prepared, v judge.Verdict) (*approval.Pending, error) {
	if err := f.storeAsking(ctx, p); err != nil {
		return nil, err
	}
	pending, err := f.d.Inbox.Ask(ctx, f.asked(p, v))
	if err != nil {
		f.closeDeferred(p, nil, fault.Errorf(fault.Denied, "nobody could be asked"))
		return nil, fault.Errorf(fault.Denied, "nobody could be asked: %w", err)
	}
	return pending, nil
}

// asked is the question as the inbox keeps it.
func (f *Fleet) asked(p *prepared, v judge.Verdict) approval.Request {
	q := p.question()
	asked := approval.Request{
		ID: approvalID(p.id), Principal: f.person(p.who), Kind: approval.KindTool, Title: q.Title, Tool: q.Tool, Arguments: json.RawMessage(p.shownArgs()),
		Target: p.machine, Reason: v.Reason, RequestedBy: p.who.String(), OnBehalfOf: p.who.OnBehalf(),
		Asker: approval.AskerOf(p.who), Taint: p.taint, Timeout: f.d.Limits.ApprovalWait, Quorum: v.Need.Quorum, Policy: p.answerable(v), Scene: v.Need.Scene,
	}
	if p.who.Where == identity.InTask {
		asked.Task = p.who.Run
	} else {
		asked.Conversation = p.who.Run
	}
	return asked
}

// approvalID names the question about a call.
func approvalID(call string) string { return "fleet-" + call }

// shownArgs is what the question shows as its arguments: exactly what will run and, of a
// fan-out, on which machines.
func (p *prepared) shownArgs() string {
	if p.fan == nil {
		return string(p.wire)
	}
	return text(map[string]any{"machines": p.question().Machines, "arguments": json.RawMessage(p.wire)})
}

// awaitInbox waits for the decision, for as long as the caller does. Then the call
// goes on by itself.
func (f *Fleet) awaitInbox(fl *underway, pending *approval.Pending, patience time.Duration) error {
	var late <-chan time.Time
	if patience > 0 {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-pending.Done():
		return f.answeredInbox(fl.ctx, fl.p, pending)
	case <-fl.ctx.Done():
		f.withdraw(pending.ID())
		err := fault.Errorf(fault.Cancelled, "the caller gave up before anybody answered; nothing ran")
		f.closeDeferred(fl.p, nil, err)
		return err
	case <-late:
	}
	f.resume(fl.p, pending)
	return &fault.Error{Code: fault.ApprovalPending, Message: "a person has been asked, and it runs by itself if they agree: do not call it again; call_status tells how call " + fl.p.id + " stands", CallID: fl.p.id, ApprovalID: pending.ID()}
}

// resume goes on with a call without its request; it takes the request's place on
// the list of calls under way.
func (f *Fleet) resume(p *prepared, pending *approval.Pending) {
	own := *p
	fl := &underway{f: f, p: &own, state: call.StateAsking, done: make(chan struct{})}
	fl.ctx, fl.cancel = context.WithCancel(f.ctx)
	f.mu.Lock()
	f.running[p.id] = fl
	f.work.Add(1)
	f.mu.Unlock()
	f.work.Go(func() { f.goOn(fl, pending) })
}

// goOn is the rest of a call whose request has been answered already.
func (f *Fleet) goOn(fl *underway, pending *approval.Pending) {
	var res *call.Result
	select {
	case <-pending.Done():
	case <-fl.ctx.Done():
		if f.ctx.Err() != nil { // the hub stops; whoever comes next goes on
			f.endCall(fl)
			return
		}
		f.withdraw(pending.ID())
	}
	err := f.answeredInbox(fl.ctx, fl.p, pending)
	if err == nil {
		fl.set(call.StateSent)
		res, err = f.perform(fl.ctx, fl.p)
	} else {
		f.logDeclined(fl.p, err)
	}
	f.settleDeferred(fl.p, res, err)
	_, _ = fl.finish(res, err) // nobody waits: the record has it
	f.notifyFinished(fl.p, err)
}

// answeredInbox turns the inbox's outcome into ours.
func (f *Fleet) answeredInbox(ctx context.Context, p *prepared, pending *approval.Pending) error {
	out, err := pending.Wait(ctx)
	if err == nil && out.State == approval.StateExpired {
		err = fault.Errorf(fault.ApprovalTimeout, "nobody approved it in time; nothing ran")
		f.closeDeferred(p, nil, err)
		return err
	}
	if err == nil && out.State == approval.StateCancelled {
		err = fault.Errorf(fault.Cancelled, "the question was withdrawn; nothing ran")
		f.closeDeferred(p, nil, err)
		return err
	}
	if err = f.decided(p, pending.ID(), call.Decision{Approved: out.Approved(), By: out.By, How: "inbox", Reason: out.Reason}, err); err != nil {
		f.closeDeferred(p, nil, err)
		return err
	}
	return f.sentDeferred(ctx, p)
}

// withdraw takes a question back that nobody needs answered any more.
func (f *Fleet) withdraw(id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(f.ctx), writeTime)
	defer cancel()
	if _, err := f.d.Inbox.Cancel(ctx, id, "the call was cancelled"); err != nil {
		f.d.Log.Warn("a question stays in the inbox", "id", id, "error", err)
	}
}

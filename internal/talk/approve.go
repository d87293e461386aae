package talk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"parley.internal/internal/approval"
	"parley.internal/internal/brain"
	"parley.internal/internal/brain/tool"
	"parley.internal/internal/identity"
)

// approve asks a person about one call of a tool.
func (r *running) approve(ctx context.Context, call tool.Call, class tool.Class) (tool.Decision, error) {
	c := r.c
	if c.t.d.Inbox == nil {
		return tool.Decision{}, tool.Errorf(tool.Denied, "%s needs a person's approval and this hub has no inbox", call.Name)
	}
	req := approval.Request{
		Principal: c.person, Kind: approval.KindTool, Title: fmt.Sprintf("%s wants to use %s", r.speaker, call.Name),
		Tool: call.Name, Arguments: call.Arguments, Reason: cmp.Or(call.Why, "a "+class.String()+" tool in a conversation"),
		RequestedBy: "agent:" + r.speaker, OnBehalfOf: c.key.Sender, Conversation: c.id, Asker: approval.AskerOf(r.tn.By), Taint: call.Taint,
		Quorum: call.Need.Quorum, Policy: r.answerable(call.Need.Policy), Timeout: r.patience(), Scene: call.Need.Scene,
	}
	if out, ok := c.t.d.Inbox.AnswerByRule(ctx, req); ok {
		return decision(call.Name, out)
	}
	p, err := c.t.d.Inbox.Ask(ctx, req)
	if err != nil {
		return tool.Decision{}, err
	}
	shown := Approval{ID: p.ID(), Tool: call.Name, Summary: summary(call)}
	c.feed.publish(Event{Kind: Waiting, Run: r.tn.id, Agent: r.speaker, Approval: &shown})
	goOn := r.waitForPerson(ctx)
	out, err := p.Wait(ctx)
	goOn()
	resolved := shown
	if err != nil {
		resolved.Resolved = "withdrawn"
		c.t.withdrawn(p.ID(), "the run ended")
	} else {
		resolved.Resolved = string(out.State)
	}
	c.feed.publish(Event{Kind: Waiting, Run: r.tn.id, Agent: r.speaker, Approval: &resolved, By: out.By})
	if err != nil {
		return tool.Decision{}, err
	}
	return decision(call.Name, out)
}

// decision tells a model what became of a question. Only a person's no is a no: one that
// nobody answered or that was withdrawn says nothing about the call.
func decision(name string, out approval.Outcome) (tool.Decision, error) {
	switch out.State {
	case approval.StateExpired:
		return tool.Decision{}, tool.Errorf(tool.ApprovalTimeout, "nobody answered in time whether %s may be used here; nobody rejected it either", name)
	case approval.StateCancelled:
		return tool.Decision{}, tool.Errorf(tool.Cancelled, "the question whether %s may be used here was withdrawn before anybody answered (%s); nobody rejected it", name, cmp.Or(out.Reason, "no reason is known"))
	}
	return tool.Decision{Approved: out.Approved(), Reason: out.Reason}, nil
}

// answerable says who may answer: whoever chats may, on the same screen, but no model or
// program that made the agent ask, and about machines nobody with the token that wants it.
func (r *running) answerable(need approval.Policy) approval.Policy {
	need.Screen = need.Right == nil
	for c := r; c != nil; c = c.caller { // a delegate asks for whoever sent its caller's turn
		need.Screen = need.Screen && c.tn.By.Where != identity.AtMCP && !c.tn.Program
	}
	return need
}

// summary is a call in one line.
func summary(call tool.Call) string {
	const limit = 500
	text := []rune(valid(string(call.Arguments)))
	if len(text) > limit {
		text = append(text[:limit], '…')
	}
	return string(text)
}

// affordable refuses a turn when the agent's budget is spent, or is in money that
// nobody can count.
func (t *Talk) affordable(ctx context.Context, a *brain.Agent) error {
	if m, err := t.d.Models.Resolve(a.Model); err == nil { // one that cannot be found fails the run, with its reason
		if err := m.Payable(a.Name, a.Budget); err != nil {
			return err
		}
	}
	err := brain.NewMeter(a.Name, a.Budget, t.d.Ledger).Check(ctx)
	if errors.Is(err, brain.ErrBudget) {
		return fmt.Errorf("%w: %w", ErrBudget, err)
	}
	return err
}

// budgetSpent leaves a note in the inbox, one per agent and day.
func (t *Talk) budgetSpent(a *brain.Agent, sender string, why error) {
	now := time.Now().UTC()
	t.leaveNote("budget:"+a.Name+":"+brain.Day(now), sender, a.Name, why.Error())
}

// leaveNote shows something in the inbox that nobody has to answer. The same id
// is shown once.
func (t *Talk) leaveNote(id, sender, agent, text string) {
	if t.d.Inbox == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	_, err := t.d.Inbox.Ask(ctx, approval.Request{
		ID: id, Principal: t.d.PersonOf(sender), Kind: approval.KindNote, Title: text,
		RequestedBy: "agent:" + agent, OnBehalfOf: sender, Timeout: 7 * 24 * time.Hour,
	})
	if err != nil && !errors.Is(err, approval.ErrInvalid) {
		t.d.Log.Warn("a note is not in the inbox", "id", id, "error", err)
	}
}

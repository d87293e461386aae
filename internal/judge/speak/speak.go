// Package speak puts what is said to others in a person's name to the judge: postings,
// messages, offers and visits at meeting places, and what a model says in a room. Where
// the judge wants a person, the caller waits until that one has answered.
//
//	gate := speak.Gate{Rules: rules, Inbox: inbox}
//	if err := gate.Allow(ctx, who, "place_post", posting); err != nil { … }
//
// It guarantees that nothing was said before it returned nil, and that whoever is asked
// sees all of it.
package speak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"parley.internal/internal/approval"
	"parley.internal/internal/identity"
	"parley.internal/internal/judge"
)

// ErrDenied says that a person, time or a rule said no.
var ErrDenied = errors.New("this is not said to others")

// Inbox is where people are asked; *approval.Inbox is one.
type Inbox interface {
	Ask(ctx context.Context, r approval.Request) (*approval.Pending, error)
	Cancel(ctx context.Context, id, reason string) (approval.Outcome, error)
}

// Gate asks before something is said.
type Gate struct {
	Rules judge.Rules
	Inbox Inbox
}

// Allow returns nil when the actor may say what, under the name that rules know it by.
func (g Gate) Allow(ctx context.Context, who identity.Actor, tool string, what any) error {
	if who.Agent != "" {
		return nil // a run was judged when it called the tool
	}
	v := g.Rules.Decide(who, judge.Call{Tool: tool, Label: judge.Mutating, Class: judge.Speaks, Why: tool + " tells others something in your name"}, judge.Setting{Where: who.Where})
	switch v.Action {
	case judge.Run:
		return nil
	case judge.Refuse:
		return fmt.Errorf("%w: %s", ErrDenied, v.Reason)
	}
	return g.ask(ctx, who, tool, what, v)
}

func (g Gate) ask(ctx context.Context, who identity.Actor, tool string, what any, v judge.Verdict) error {
	shown, err := json.Marshal(what)
	if err != nil {
		return err
	}
	pending, err := g.Inbox.Ask(ctx, approval.Request{
		Principal: who.Person.ID, Kind: approval.KindTool, Title: who.String() + " wants to use " + tool, Tool: tool, Arguments: shown, Reason: v.Reason,
		RequestedBy: who.String(), Asker: approval.AskerOf(who), Quorum: v.Need.Quorum, Policy: v.Need.Policy,
	})
	if err != nil {
		return err
	}
	out, err := pending.Wait(ctx)
	if err != nil {
		g.withdraw(pending.ID())
		return err
	}
	if !out.Approved() {
		return fmt.Errorf("%w: %s (%s)", ErrDenied, out.State, out.Reason)
	}
	return nil
}

// withdrawTime bounds the taking back of a question whose caller is gone.
const withdrawTime = 10 * time.Second

func (g Gate) withdraw(id string) {
	ctx, cancel := context.WithTimeout(context.Background(), withdrawTime)
	defer cancel()
	_, _ = g.Inbox.Cancel(ctx, id, "whoever asked did not wait for the answer") // time takes it back otherwise
}

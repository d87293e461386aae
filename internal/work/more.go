package work

import (
	"context"
	"encoding/json"
	"fmt"

	"parley.internal/internal/approval"
	"parley.internal/internal/brain"
	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/tool"
	"parley.internal/internal/judge"
	"parley.internal/internal/owner"
)

// permitMore lets a call that runs ask for one more thing, which it could not know before: the
// program of a command wants to connect to a host. That is judged like a call, and the
// task asks as it does about any other.
func (t *task) permitMore(c *openCall) func(context.Context, *tool.Tool, json.RawMessage) error {
	return func(ctx context.Context, more *tool.Tool, args json.RawMessage) error {
		answer := make(chan error, 1)
		// Its id is not the call's: a yes to the one must never be taken for a yes to the other.
		inner := &openCall{Call: model.Call{ID: c.ID + "/" + more.Name, Name: more.Name, Arguments: string(args)}, tool: more, args: args, class: more.Class}
		if err := t.do(ctx, func() { t.judgeMore(inner, answer) }); err != nil {
			return err
		}
		select {
		case err := <-answer:
			return err
		case <-ctx.Done():
			t.post(func() { t.forgetMore(inner) })
			return context.Cause(ctx)
		case <-t.gone:
			return owner.ErrGone
		}
	}
}

// judgeMore decides, or asks.
func (t *task) judgeMore(c *openCall, answer chan<- error) {
	if t.over {
		answer <- owner.ErrGone
		return
	}
	v := t.policy().Judge(c.tool, t.toolCall(c), c.class, brain.Seen{Tainted: t.state.Tainted, Hosts: t.state.Hosts})
	switch {
	case v.Action == judge.Refuse:
		answer <- &tool.Error{Type: tool.Denied, Message: fmt.Sprintf("%s may not be used here: %s", c.Name, v.Reason), Err: tool.ErrRefused}
	case v.Action == judge.Ask && t.remembered[rememberKey(c)] == "":
		if r := t.request(c, v); t.ruledBy(r) != "" {
			answer <- nil
		} else {
			t.ask(&question{call: c, more: answer}, r, c.ID)
		}
	default:
		answer <- nil
	}
}

// moreDecided tells the call that waits.
func (t *task) moreDecided(q *question, out approval.Outcome) {
	if !out.Approved() {
		q.more <- notApproved(q.call.Name, out)
	} else {
		q.more <- nil
	}
	if out.Approved() && out.Remember == approval.RememberTask {
		t.remembered[rememberKey(q.call)] = out.By
	}
	t.then(t.turnOver) // the turn may have ended meanwhile, and waited for this question alone
}

// forgetMore withdraws the question of a call that no longer waits for its answer.
func (t *task) forgetMore(c *openCall) {
	if q := t.asks[c.approval]; q != nil && !t.over {
		t.withdraw(q, "the program that asked has ended")
		t.then(t.turnOver)
	}
}

// withdrawMore withdraws what calls that run have asked for meanwhile.
func (t *task) withdrawMore(reason string) {
	for _, q := range t.openQuestions() {
		if q.more != nil {
			t.withdraw(q, reason)
			q.more <- tool.Errorf(tool.Rejected, "not approved: %s", reason)
		}
	}
}

package work

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	jsonx "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/internal/approval"
	"parley.internal/internal/audit"
	"parley.internal/internal/brain/tool"
	"parley.internal/internal/ids"
	"parley.internal/internal/judge"
	"parley.internal/internal/store"
	"parley.internal/protocol/viber"
)

// maxExpiries is how many questions in a row may go unanswered before the task
// gives up: nobody is there.
const maxExpiries = 3

const budgetTool = "budget.extend"

// question is something a person was asked and has not answered.
type question struct {
	id      string
	event   *viber.ApprovalRequired
	pending *approval.Pending
	call    *openCall // nil for a budget
	budget  *budgetLimit
	// more is told the answer when a call that runs asked for one more thing; call is that thing.
	more chan<- error
}

// askApproval asks whether a call may run, if it could.
func (t *task) askApproval(c *openCall, v judge.Verdict) {
	ctx, cancel := context.WithTimeout(t.ctx, writeTimeout)
	defer cancel()
	if err := c.tool.Refusal(ctx, t.toolCall(c)); err != nil {
		t.settleCall(c, tool.Result{}, err)
		return
	}
	if right := c.tool.ConsentFor(t.toolCall(c)).Policy.Right; right != nil {
		v.Need.Right = right
	}
	r := t.from(t.request(c, v))
	if t.w.d.Inbox.Ruled(ctx, r) {
		c.ruled = &r
		t.batch.ready = append(t.batch.ready, c)
		return
	}
	t.ask(&question{call: c}, r, c.ID)
}

// mayBegin reports whether a call whose turn has come may run. A standing rule answers now
// and not before: it may have been taken back while the call waited. If none does any more,
// the person is asked.
func (t *task) mayBegin(c *openCall) bool {
	r := c.ruled
	if r == nil {
		return true
	}
	c.ruled = nil
	if c.by = t.ruledBy(*r); c.by != "" {
		return true
	}
	t.ask(&question{call: c}, *r, c.ID)
	return false
}

// ruledBy has a standing rule answer, and names it; empty if none does.
func (t *task) ruledBy(r approval.Request) string {
	r = t.from(r) // words of strangers may have come since
	ctx, cancel := context.WithTimeout(t.ctx, writeTimeout)
	defer cancel()
	out, _ := t.w.d.Inbox.AnswerByRule(ctx, r)
	return out.By
}

// request is a call as a question about it.
func (t *task) request(c *openCall, v judge.Verdict) approval.Request {
	return approval.Request{
		Kind: approval.KindTool, Title: fmt.Sprintf("%s wants to use %s", t.agent.Name, c.Name), Tool: c.Name, Arguments: c.args,
		Reason: v.Reason, MayRemember: true, Quorum: v.Need.Quorum, Policy: v.Need.Policy, Scene: v.Need.Scene,
	}
}

// from says who asks: this task, for its person.
func (t *task) from(r approval.Request) approval.Request {
	if t.state.Tainted || t.state.Others {
		r.Scene = nil
	}
	r.ID, r.Principal, r.Task = ids.New(), t.principal, t.id
	r.RequestedBy, r.OnBehalfOf, r.Asker, r.Taint = "agent:"+t.agentName(), t.spec.By.String(), approval.AskerOf(t.spec.By), t.state.Taint
	// A board is its person's own screen; but whoever may do something to a machine is
	// asked elsewhere than by the token that wants it.
	r.Policy.Screen = t.spec.Origin != "" && r.Policy.Right == nil
	r.Timeout = t.opts.ApprovalTimeout(t.agent.ApprovalTimeout)
	return r
}

// askUser shows the questions of an ask_user call.
func (t *task) askUser(c *openCall) {
	args := struct {
		Questions []approval.Question `json:"questions"`
	}{}
	if err := json.Unmarshal(c.args, &args); err != nil || len(args.Questions) == 0 {
		t.settleCall(c, tool.Result{}, tool.Errorf(tool.Validation, "ask_user takes one or more questions"))
		return
	}
	t.ask(&question{call: c}, approval.Request{
		Kind: approval.KindAsk, Title: args.Questions[0].Question, Tool: c.Name, Arguments: c.args,
		Reason: "the agent has a question", Questions: args.Questions,
	}, c.ID)
}

// ask puts a question into the inbox and the log, in one transaction.
func (t *task) ask(q *question, r approval.Request, callID string) {
	r = t.from(r)
	asking, err := t.w.d.Inbox.Prepare(r)
	if err != nil {
		t.notAsked(q, err)
		return
	}
	item := asking.Item()
	q.id = item.ID
	q.event = &viber.ApprovalRequired{
		ApprovalID: item.ID, ToolCall: viber.ToolCall{ID: callID, Name: item.Tool, Arguments: jsontext.Value(item.Arguments)},
		Reason: item.Reason, TimeoutMS: r.Timeout.Milliseconds(), CreatedAt: viber.At(item.Created), RequestedBy: item.RequestedBy,
	}
	showAsker(q.event, item)
	if q.call != nil {
		q.call.approval = q.id
	}
	t.asks[q.id] = q
	t.emit(q.event)
	t.op(func(tx *store.Tx) error {
		if err := asking.Write(tx); err != nil {
			return err
		}
		data, err := jsonx.Marshal(q.event)
		if err != nil {
			return err
		}
		_, err = tx.Exec(`INSERT INTO work_approvals (id, task, principal, seq, resolved_seq, expires_at, data) VALUES (?, ?, ?, ?, 0, ?, ?)`,
			q.id, t.id, t.principal, q.event.Seq, store.Micros(item.Expires), data)
		return err
	})
	t.out.failed = append(t.out.failed, func(err error) { _, _ = asking.Done(err) })
	t.then(func() {
		q.pending, _ = asking.Done(nil)
		t.w.announce(t, q.event)
		t.await(q)
	})
	t.refreshStatus()
}

// notAsked handles a question that cannot be put: too large, mostly.
func (t *task) notAsked(q *question, err error) {
	if q.more != nil {
		q.more <- tool.Errorf(tool.Denied, "nobody can be asked: %w", err)
		return
	}
	if q.call == nil {
		t.internal("the budget could not be asked for", err)
		return
	}
	t.settleCall(q.call, tool.Result{}, tool.Errorf(tool.Denied, "nobody can be asked about this call: %w", err))
}

// await tells the task's goroutine when the question is decided.
func (t *task) await(q *question) {
	q.pending.Tell(func(out approval.Outcome) {
		t.post(func() { t.decided(q, out) })
	})
}

// decided goes on with what a person, or time, decided. What follows waits until
// the decision is in the log.
func (t *task) decided(q *question, out approval.Outcome) {
	if t.over || t.asks[q.id] != q {
		return
	}
	t.resolve(q, out)
	t.countExpiry(out)
	if q.call == nil {
		t.budgetDecided(q, out)
		return
	}
	if q.more != nil {
		t.moreDecided(q, out)
		return
	}
	c := q.call
	switch {
	case c.Name == toolAskUser:
		res, err := askedResult(out, q.pending.Item())
		t.settleCall(c, res, err)
	case out.Approved():
		c.by = out.By
		if out.Remember == approval.RememberTask {
			t.remembered[rememberKey(c)] = out.By
		}
		t.batch.ready = append(t.batch.ready, c)
	default:
		no := notApproved(c.Name, out)
		c.tool.NoteDeclined(t.toolCall(c), no)
		t.settleCall(c, tool.Result{}, no)
	}
	t.then(t.runNext)
}

func (t *task) countExpiry(out approval.Outcome) {
	switch out.State {
	case approval.StateExpired:
		t.state.Expiries++
	case approval.StateApproved, approval.StateRejected:
		t.state.Expiries = 0
	}
}

// expiredForGood tells whether one unanswered question is enough to give up.
func (t *task) expiredForGood() bool {
	return t.state.Expiries > 0 && t.opts.OnApprovalTimeout == viber.OnTimeoutFail
}

// notApproved is the error of a call that a person, or time, decided against.
func notApproved(name string, out approval.Outcome) error {
	if out.State == approval.StateExpired {
		return tool.Errorf(tool.ApprovalTimeout, "nobody approved this call of %s in time", name)
	}
	return &tool.Error{Type: tool.Rejected, Message: rejection(name, out), Err: tool.ErrRefused}
}

// rejection is what the model reads of a no: the person's own words, if any.
func rejection(name string, out approval.Outcome) string {
	if out.Reason != "" {
		return out.Reason
	}
	return "the person rejected this call of " + name
}

// resolve takes a decided question off the list, with its event.
func (t *task) resolve(q *question, out approval.Outcome) {
	delete(t.asks, q.id)
	ev := &viber.ApprovalResolved{
		ApprovalID: q.id, Outcome: viber.Outcome(out.State), By: out.By, Reason: out.Reason, ResolvedAt: viber.At(out.At),
	}
	t.emit(ev)
	t.op(func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE work_approvals SET resolved_seq = ? WHERE id = ?`, ev.Seq, q.id)
		return err
	})
	t.then(func() { t.w.announce(t, ev) })
	t.refreshStatus()
}

// withdraw cancels a question, unless it has just been decided; the record counts.
func (t *task) withdraw(q *question, reason string) approval.Outcome {
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	out, err := t.w.d.Inbox.Cancel(ctx, q.id, reason)
	if err != nil {
		if !errors.Is(err, approval.ErrNotFound) {
			t.w.d.Logger.Warn("cannot withdraw a question", "task", t.id, "approval", q.id, "error", err)
		}
		out = approval.Outcome{State: approval.StateCancelled, Reason: reason, At: time.Now()}
	}
	t.resolve(q, out)
	return out
}

// withdrawAll cancels whatever the task still waits for, in the order it asked.
func (t *task) withdrawAll(reason string) {
	for _, q := range t.openQuestions() {
		t.withdraw(q, reason)
	}
}

// askedResult is what the model gets of an ask_user.
func askedResult(out approval.Outcome, item approval.Item) (tool.Result, error) {
	switch {
	case out.State == approval.StateExpired:
		return tool.Result{}, tool.Errorf(tool.ApprovalTimeout, "nobody answered in time; go on without the answer")
	case !out.Approved():
		reason := out.Reason
		if reason == "" {
			reason = "the person does not want to answer this"
		}
		return tool.Result{}, tool.Errorf(tool.Rejected, "%s", reason)
	}
	answers := out.Answers
	if len(answers) == 0 {
		answers = []string{out.Reason}
	}
	if len(answers) > len(item.Questions) {
		answers = answers[:len(item.Questions)]
	}
	raw, err := json.Marshal(map[string]any{"answers": answers})
	return tool.Result{Text: string(raw)}, err
}

// rememberKey is what "the same call" means: the tool and equal arguments.
func rememberKey(c *openCall) string {
	digest, err := audit.Digest(c.args)
	if err != nil {
		return c.Name + " " + string(c.args)
	}
	return c.Name + " " + digest
}

package work

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley.internal/internal/approval"
	"parley.internal/internal/brain"
	"parley.internal/internal/brain/builtin"
	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/tool"
	"parley.internal/internal/identity"
	"parley.internal/internal/judge"
	"parley.internal/protocol/viber"
)

// batch is the tool calls of one model answer.
type batch struct {
	calls []*openCall
	// ready are those that may run, in the order they became so.
	ready   []*openCall
	running *openCall
	// superseded: a steer came, nothing more of the batch begins.
	superseded bool
}

// openCall is one tool call on its way to its result.
type openCall struct {
	model.Call
	tool     *tool.Tool
	args     json.RawMessage
	class    tool.Class
	approval string            // the id of the question that was asked
	by       string            // who said yes
	ruled    *approval.Request // what a standing rule answers when its turn comes
	began    time.Time
	result   *model.Message // once there is one
}

func (b *batch) open() bool {
	return slices.ContainsFunc(b.calls, func(c *openCall) bool { return c.result == nil })
}

// act deals with the calls of an answer: they are shown and on disk before any
// is asked about or runs.
func (t *task) act(msg model.Message) {
	b := &batch{}
	t.batch = b
	t.remember(msg)
	t.out.row = true
	for _, call := range msg.Calls {
		c := &openCall{Call: call}
		b.calls = append(b.calls, c)
		t.showCall(c)
	}
	t.phase(viber.Executing, "")
	for _, c := range b.calls {
		t.judge(c)
	}
	t.askProgress()
	t.then(t.runNext)
}

// showCall tells followers what the model wants to call.
func (t *task) showCall(c *openCall) {
	if !t.opts.StreamDeltas {
		return
	}
	for _, piece := range viber.SplitArguments(valid(c.Arguments)) {
		t.emit(&viber.TaskDelta{DeltaType: viber.DeltaToolCall, ToolCall: &viber.ToolCallDelta{ID: c.ID, Name: valid(c.Name), Arguments: piece}})
	}
}

// judge decides what becomes of a call: a refusal, a question, or its turn.
func (t *task) judge(c *openCall) {
	if err := t.check(c); err != nil {
		t.settleCall(c, tool.Result{}, err)
		return
	}
	if c.Name == toolAskUser {
		t.askUser(c)
		return
	}
	v := t.policy().Judge(c.tool, t.toolCall(c), c.class, brain.Seen{Tainted: t.state.Tainted, Hosts: t.state.Hosts})
	switch {
	case v.Action == judge.Refuse:
		why := fmt.Sprintf("%s may not be used like this: %s", c.Name, v.Reason)
		t.settleCall(c, tool.Result{}, &tool.Error{Type: tool.Denied, Message: why, Err: tool.ErrRefused})
	case v.Action == judge.Ask && t.remembered[rememberKey(c)] == "":
		t.askApproval(c, v)
	default:
		c.by = t.remembered[rememberKey(c)]
		t.batch.ready = append(t.batch.ready, c)
	}
}

// check finds the tool and reads the arguments.
func (t *task) check(c *openCall) (err error) {
	if _, bad := viber.ParseArguments(c.Arguments); bad != nil {
		return tool.Errorf(tool.Validation, "%w; write the arguments again as one JSON object", bad)
	}
	defer func() {
		// A tool that breaks down over its arguments has refused them.
		if broken := recover(); broken != nil {
			err = tool.Errorf(tool.Validation, "%s cannot take these arguments", c.Name)
		}
	}()
	if c.tool, c.args, err = t.tools.Check(c.Call); err != nil {
		return err
	}
	c.class = c.tool.ClassFor(c.args)
	for _, s := range t.inUse {
		if c.Name != toolSkill && !s.Allows(c.Name) {
			return tool.Errorf(tool.Denied, "the skill %s does not allow %s", s.Name, c.Name)
		}
	}
	return nil
}

// policy is what decides about this task's calls.
func (t *task) policy() brain.Policy {
	p := brain.Policy{
		Commands: t.w.d.Policy, Where: identity.InTask, Stranger: strings.Contains(t.spec.By.Sender(), ":"),
		AutoApprove: t.agent.AutoApprove, RequireApproval: t.agent.RequireApproval, Rules: t.w.d.Rules,
	}
	switch {
	case t.spec.Mode == viber.AlwaysExecute && t.unattended():
		p.Mode = judge.AlwaysExecute
	case t.spec.Mode == viber.AlwaysAsk:
		p.Mode = judge.AlwaysAsk
	}
	return p
}

// unattended reports whether the task still need not ask: everybody whose words are in
// it has the right to that, and what it was submitted with has not ended.
func (t *task) unattended() bool {
	return t.state.Reach.Has(identity.TaskUnattended) && !t.w.gone(t.spec.By)
}

// gone reports whether what somebody came with has ended since.
func (w *Work) gone(who identity.Actor) bool { return w.d.Ended != nil && w.d.Ended(who) }

// actor is the task's agent, as it acts for whoever submitted the task.
func (t *task) actor() identity.Actor {
	return t.spec.By.Narrow(t.state.Reach).ForAgent(t.agentName(), identity.InTask, t.id)
}

// toolCall is an open call as its tool gets it.
func (t *task) toolCall(c *openCall) tool.Call {
	return tool.Call{
		ID: c.ID, Name: c.Name, Arguments: c.args, Agent: t.agent.Name, Principal: t.spec.By.Sender(), Run: t.id, Workspace: t.w.workspace(t.principal, t.agent), Dir: t.opts.Folder,
		ApprovedBy: c.by, Tainted: t.state.Tainted, Taint: t.state.Taint, Actor: t.actor(), Permit: t.permitMore(c),
	}
}

// runNext begins the next ready call, if none runs.
func (t *task) runNext() {
	b := t.batch
	if b == nil || b.running != nil || t.over {
		return
	}
	if !b.open() {
		t.batchOver()
		return
	}
	if len(b.ready) == 0 {
		return
	}
	c := b.ready[0]
	b.ready = b.ready[1:]
	if !t.mayBegin(c) {
		t.then(t.runNext)
		return
	}
	b.running = c
	t.refreshStatus()
	c.began = time.Now()
	ctx, call := t.ctx, t.toolCall(c)
	t.background(func() {
		res, err := t.tools.Invoke(ctx, c.tool, call, 0)
		t.post(func() { t.toolDone(c, res, err) })
	})
}

// toolDone takes the result of the running call in.
func (t *task) toolDone(c *openCall, res tool.Result, err error) {
	if t.over || t.batch == nil || t.batch.running != c {
		return
	}
	t.batch.running = nil
	if t.stopNow != nil {
		t.stopOnceDead()
		return
	}
	t.refreshStatus()
	t.settleCall(c, res, err)
	t.then(t.runNext)
}

// settleCall gives a call its one result.
func (t *task) settleCall(c *openCall, res tool.Result, err error) {
	if c.result != nil {
		return
	}
	text := resultText(res, err)
	if err != nil {
		res = tool.Failed(err)
	}
	c.result = &model.Message{Role: model.Tool, Text: modelText(text, res), CallID: c.ID, Name: c.Name, IsError: res.IsError}
	t.keep(*c.result)
	if res.Untrusted {
		t.taint(cmp.Or(res.Source, c.Name))
	}
	t.reached(c, err)
	t.showResult(c.ID, text)
	t.auditCall(c, err, res.IsError)
}

// taint notes that words of strangers were read in this turn.
func (t *task) taint(source string) {
	if t.state.Tainted {
		return
	}
	t.state.Tainted, t.out.row = true, true
	t.state.Taint = &approval.Taint{Since: time.Now().UTC(), By: source}
}

// showResult tells followers what came of a call.
func (t *task) showResult(id, text string) {
	if !t.opts.StreamDeltas {
		return
	}
	shown, cut := shownResult(text)
	t.emit(&viber.TaskDelta{DeltaType: viber.DeltaToolResult, ToolResult: &viber.ToolResultDelta{ToolCallID: id, Result: shown}, Truncated: cut})
}

// acted shows what an agent of its own did by itself, and what it means to do.
func (t *task) acted(a *model.Act) {
	if a.Untrusted {
		t.taint(t.agentName())
	}
	switch {
	case a.Plan != nil:
		t.planned(a.Plan)
	case a.Result != "":
		t.showResult(a.ID, valid(a.Result))
	case a.Name != "":
		t.showCall(&openCall{Call: model.Call{ID: valid(a.ID), Name: a.Name, Arguments: a.Arguments}})
	}
}

// planned takes in the plan of an agent of its own.
func (t *task) planned(steps []model.Step) {
	plan := &viber.StructuredPlan{Goal: t.goal}
	t.state.Touched = nil
	for i, s := range steps {
		step := viber.PlanStep{ID: strconv.Itoa(i + 1), Title: valid(s.Title), Status: viber.StepPending}
		if status := viber.StepStatus(s.Status); status == viber.StepInProgress || status == viber.StepCompleted {
			step.Status = status
		}
		plan.Steps = append(plan.Steps, step)
		t.state.Touched = append(t.state.Touched, step.ID)
	}
	t.state.Plan, t.out.row = &viber.Plan{Steps: plan}, true
	t.progress("plan: " + t.planUpdates())
}

// reached remembers the host that a call spoke to, which need not be asked about again.
func (t *task) reached(c *openCall, err error) {
	if err != nil || c.tool == nil || c.tool.Reach == nil {
		return
	}
	if host := c.tool.Reach(c.args); !slices.Contains(t.state.Hosts, host) {
		t.state.Hosts, t.out.row = append(t.state.Hosts, host), true
	}
}

// batchOver goes on once every call has its result: in call order, whatever the
// order they ran in.
func (t *task) batchOver() {
	for _, c := range t.batch.calls {
		t.history = append(t.history, *c.result)
	}
	t.batch = nil
	t.refreshStatus()
	if t.state.Expiries >= maxExpiries || t.expiredForGood() {
		t.fail(viber.ErrorInfo{
			Type: viber.CodeApprovalTimeout, Message: "nobody answered in time", Recoverable: true,
			Suggestion: "submit again when somebody can answer, or allow more time with options.approval_timeout_ms",
		}, "")
		return
	}
	if len(t.steers) > 0 {
		t.inject(t.takeSteers()...)
		return
	}
	t.phase(viber.Verifying, "")
	t.think()
}

// supersede lets nothing more of the batch begin: a person has something to say.
func (t *task) supersede() {
	b := t.batch
	if b == nil {
		return
	}
	b.superseded = true
	t.withdrawMore("a new message came")
	for _, c := range b.calls {
		if c.result != nil || c == b.running {
			continue
		}
		why := tool.Errorf(tool.Superseded, "not run: the person said something else meanwhile")
		if q := t.asks[c.approval]; q != nil {
			if t.withdraw(q, "a new message came").State != approval.StateApproved {
				why = tool.Errorf(tool.Rejected, "not approved: the person said something else meanwhile")
			}
		}
		t.settleCall(c, tool.Result{}, why)
	}
	b.ready = nil
	t.refreshStatus()
	t.then(t.runNext)
}

// resultText is a result as JSON: {"ok":true,"output":{…}} or {"ok":false,"error":{…}}.
func resultText(res tool.Result, err error) string {
	switch {
	case err != nil:
		return builtin.Failure(asToolError(err))
	case res.IsError:
		text, _ := tool.Clip(res.Text, tool.MaxOutput/2)
		return builtin.Failure(tool.Errorf(tool.Unknown, "%s", text))
	}
	var form struct {
		OK *bool `json:"ok"`
	}
	raw := []byte(strings.TrimSpace(res.Text))
	fits := len(raw) <= tool.MaxOutput
	if !fits {
		raw, fits = shrink(raw, tool.MaxOutput)
	}
	if fits && len(raw) > 0 && raw[0] == '{' && json.Valid(raw) {
		if json.Unmarshal(raw, &form) == nil && form.OK != nil {
			return string(raw)
		}
		return `{"ok":true,"output":` + string(raw) + `}`
	}
	text, _ := tool.Clip(res.Text, tool.MaxOutput/2)
	return `{"ok":true,"output":` + textObject(text) + `}`
}

func textObject(text string) string {
	raw, _ := json.Marshal(map[string]string{"text": text}) // a string: cannot fail
	return string(raw)
}

func asToolError(err error) error {
	if _, ok := errors.AsType[*tool.Error](err); ok {
		return err
	}
	return &tool.Error{Type: tool.Unknown, Message: valid(err.Error()), Err: err}
}

// modelText is a result as the model gets it: words of strangers are marked.
func modelText(text string, res tool.Result) string {
	if !res.Untrusted {
		return text
	}
	source := res.Source
	if source == "" {
		source = "tool"
	}
	mark, _ := json.Marshal(valid(source)) // a string: cannot fail
	return strings.TrimSuffix(text, "}") + `,"untrusted":` + string(mark) + "}"
}

// shownResult is what of a result goes into a delta.
func shownResult(text string) (shown []byte, truncated bool) {
	if len(text) <= viber.MaxToolResult && json.Valid([]byte(text)) {
		return []byte(text), false
	}
	if raw, ok := shrink([]byte(text), viber.MaxToolResult); ok {
		return raw, true
	}
	// Escaping can double a text; a third of the room is always enough.
	cut, _ := tool.Clip(text, viber.MaxToolResult/3)
	ok := !strings.HasPrefix(text, `{"ok":false`)
	return fmt.Appendf(nil, `{"ok":%t,"output":%s}`, ok, textObject(cut)), true
}

// valid makes a text that every wire can carry.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// cancelCalls gives every open call of a task that ends its result.
func (t *task) cancelCalls(kind tool.ErrorType, why string) {
	if t.batch == nil {
		return
	}
	for _, c := range t.batch.calls {
		t.settleCall(c, tool.Result{}, tool.Errorf(kind, "%s", why))
	}
	t.batch = nil
}

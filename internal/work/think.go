package work

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"parley.internal/internal/brain"
	"parley.internal/internal/brain/model"
	"parley.internal/protocol/viber"
)

// errSteered is the cause of a model call that a steer cut short.
var errSteered = errors.New("steered")

// modelCall is one model call in progress. The buffer between is the only part
// that the call's own goroutine touches.
type modelCall struct {
	cancel context.CancelCauseFunc
	req    model.Request
	answer brain.Answer
	split  viber.TextSplitter
	torn   bool   // characters came in pieces: the splitter is in use
	text   []byte // what was said in this call

	mu     sync.Mutex
	events []model.Event
	spare  []model.Event // what was taken last
	err    error
	ended  bool
}

func (c *modelCall) put(ev model.Event, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.err, c.ended = err, true
		return
	}
	c.events = append(c.events, ev)
	c.ended = ev.Kind == model.Done
}

// drain gives what came since the last time, valid until the next.
func (c *modelCall) drain() (events []model.Event, ended bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.spare)
	events, c.events, c.spare = c.events, c.spare[:0], c.events
	return events, c.ended, c.err
}

// think makes the next model call, if time, tokens, steps and money allow it.
func (t *task) think() {
	if t.over || !t.ready || t.stopNow != nil {
		return
	}
	maxOutput, ok := t.mayThink()
	if !ok || !t.mayPay() {
		return
	}
	if n := len(t.history); t.session == nil || n > 0 && t.history[n-1].Role == model.User {
		t.state.Steps++ // an agent of its own goes on with the same prompt otherwise
	}
	ctx, cancel := context.WithCancelCause(t.ctx)
	c := &modelCall{cancel: cancel}
	t.call = c
	c.req = model.Request{
		Purpose: model.ForTask, Model: t.model.Name, System: t.system, Messages: slices.Clip(t.history), Tools: t.tools.Specs(),
		MaxOutput: maxOutput, Temperature: t.agent.Temperature, Thinking: t.agent.Thinking,
	}
	provider, policy, show := t.model.Provider, t.w.d.Calls, t.show
	if t.session != nil {
		policy = hostedCalls
	}
	policy.Early = func(ev *model.Event) {
		c.put(*ev, nil)
		t.said()
	}
	heard := policy.OnRetry
	policy.OnRetry = func(attempt int, wait time.Duration, err error) {
		if heard != nil {
			heard(attempt, wait, err)
		}
		t.post(func() { t.retried(c, attempt, wait, err) })
	}
	t.background(func() {
		defer cancel(nil)
		req := c.req
		req.Messages = show.Prepare(ctx, req.Messages)
		for ev, err := range brain.Call(ctx, provider, req, policy) {
			c.put(ev, err)
			t.wake.Ring()
		}
	})
}

// hostedCalls is the patience with agents that are programs of their own: they are silent while they
// work, and what they did once cannot be tried again. The task's own time is the limit.
var hostedCalls = brain.CallPolicy{Attempts: 1, FirstToken: viber.MaxTaskTimeout, BetweenTokens: viber.MaxTaskTimeout}

// retried tells that the provider failed and is asked again.
func (t *task) retried(c *modelCall, attempt int, wait time.Duration, err error) {
	if t.over || t.call != c {
		return
	}
	ev := t.progressWith(fmt.Sprintf("the model failed, attempt %d follows: %s", attempt+1, valid(err.Error())), nil)
	ev.RetryAfterMS = max(wait.Milliseconds(), 1)
}

// said wakes the task for something the model said, if need be: while text is on
// its way to the disk, more of it can wait until that has landed.
func (t *task) said() {
	if !t.air.wanted() {
		t.wake.Ring()
	}
}

// mayThink checks steps and tokens and says how many tokens the call may use.
func (t *task) mayThink() (maxOutput int, ok bool) {
	steps := int64(viber.MaxSteps)
	if t.opts.MaxSteps > 0 {
		steps = t.opts.MaxSteps
	}
	if int64(t.state.Steps) >= steps {
		t.fail(viber.ErrorInfo{
			Type: viber.CodeMaxSteps, Message: fmt.Sprintf("the turn took %d model calls without coming to an end", t.state.Steps), Recoverable: true,
			Suggestion: "allow more with options.max_steps, or ask for a smaller step",
		}, "")
		return 0, false
	}
	maxOutput = t.agent.MaxOutputTokens
	if t.opts.MaxTokens == 0 {
		return maxOutput, true
	}
	left := t.opts.MaxTokens - t.usage.Completion
	if left <= 0 {
		t.outOfTokens()
		return 0, false
	}
	if maxOutput == 0 || int64(maxOutput) > left {
		maxOutput = int(min(left, 1<<31-1))
	}
	return maxOutput, true
}

func (t *task) outOfTokens() {
	t.fail(viber.ErrorInfo{
		Type: viber.CodeMaxTokens, Message: fmt.Sprintf("the token limit is reached after %d completion tokens", t.usage.Completion), Recoverable: true,
		Suggestion: "allow more with options.max_tokens",
	}, "")
}

// hear takes in what the model said since the last time.
func (t *task) hear() {
	c := t.call
	if c == nil || t.over {
		return
	}
	events, ended, err := c.drain()
	for i := range events {
		t.addEvent(c, &events[i])
	}
	if t.turnText.Len() > viber.MaxTurnText {
		t.fail(viber.ErrorInfo{
			Type: viber.CodeMaxTokens, Message: fmt.Sprintf("the text of a turn has at most %d bytes", viber.MaxTurnText), Recoverable: true,
			Suggestion: "let the agent write long texts into files",
		}, "")
		return
	}
	if !ended {
		return
	}
	t.spoken(c, c.split.Flush())
	t.call = nil
	if err != nil {
		t.accountCut(c, err)
		t.modelFailed(err)
		return
	}
	t.answered(c)
}

// addEvent takes one event in.
func (t *task) addEvent(c *modelCall, ev *model.Event) {
	switch ev.Kind {
	case model.Text:
	case model.Acted:
		t.acted(ev.Act)
		return
	default:
		c.answer.Add(ev)
		return
	}
	// Nearly every text is whole characters and needs no putting together.
	if !c.torn && len(ev.Text) <= viber.MaxTerminalData && utf8.ValidString(ev.Text) {
		c.text = append(c.text, ev.Text...)
		t.say(ev.Text)
		return
	}
	c.torn = true
	t.spoken(c, c.split.Push([]byte(ev.Text)))
}

func (t *task) spoken(c *modelCall, chunks []viber.Chunk) {
	for _, chunk := range chunks {
		c.text = append(c.text, chunk.Data...)
		t.say(chunk.Data)
	}
}

// message is what the assistant said in a call.
func (c *modelCall) message() model.Message {
	return model.Message{
		Role: model.Assistant, Text: string(c.text), Reasoning: c.answer.Reasoning(), ReasoningSignature: c.answer.Signature,
	}
}

// answered goes on after a model call: with its tool calls, or with the next turn.
func (t *task) answered(c *modelCall) {
	if err := t.account(c.answer.Usage); err != nil {
		t.internal("what the model call cost could not be written down", err)
		return
	}
	t.state.Revived = 0
	msg := c.message()
	msg.Calls = t.unique(c.answer.Calls(t.state.Steps))
	switch {
	case c.answer.Finish == model.FinishLength, t.opts.MaxTokens > 0 && t.usage.Completion > t.opts.MaxTokens:
		t.outOfTokens()
	case c.answer.Finish == model.FinishFilter:
		t.fail(viber.ErrorInfo{
			Type: viber.CodeProviderError, Message: "the provider's content filter ended the answer", Suggestion: "put the goal in other words",
		}, "")
	case len(msg.Calls) > 0:
		t.act(msg)
	case c.answer.Finish == model.FinishMore:
		msg.Interrupted = true // it is no finished answer
		t.remember(msg)
		t.out.row = true
		t.think()
	default:
		t.remember(msg)
		t.out.row = true
		t.turnOver()
	}
}

// unique gives every call of the task an id of its own.
func (t *task) unique(calls []model.Call) []model.Call {
	for i := range calls {
		id := valid(calls[i].ID)
		for n := 2; t.usedIDs[id]; n++ {
			id = fmt.Sprintf("%s_%d", valid(calls[i].ID), n)
		}
		t.usedIDs[id] = true
		calls[i].ID = id
	}
	return calls
}

// interrupt cuts the model call short for a steer and keeps what it said. It
// reports false when there was none, or it had just ended by itself.
func (t *task) interrupt() bool {
	c := t.call
	if c == nil {
		return false
	}
	if t.hear(); t.call != c {
		return false
	}
	t.cutCall(errSteered)
	if len(c.text) > 0 {
		msg := c.message()
		msg.Interrupted = true
		t.remember(msg)
	}
	return true
}

// cutCall ends the model call where it is; its text so far counts.
func (t *task) cutCall(cause error) {
	c := t.call
	if c == nil {
		return
	}
	t.call = nil
	c.cancel(cause)
	events, _, _ := c.drain()
	for i := range events {
		if events[i].Kind == model.Text {
			t.addEvent(c, &events[i])
		}
	}
	t.spoken(c, c.split.Flush())
	t.accountCut(c, cause)
}

// accountCut adds what a call used that did not come to its end.
func (t *task) accountCut(c *modelCall, failed error) {
	c.answer.Add(&model.Event{Kind: model.Text, Text: string(c.text)})
	used, _ := brain.Spent(&c.req, &c.answer, failed)
	if err := t.count(t.model.Cost(used)); err != nil {
		t.w.d.Logger.Warn("what a model call used could not be written down", "task", t.id, "error", err)
	}
}

// modelFailed ends the task because the model did not answer.
func (t *task) modelFailed(err error) {
	e, ok := errors.AsType[*model.Error](err)
	switch {
	case !ok:
		t.internal("the model call failed", err)
	case e.Cause == model.CauseContext:
		t.fail(viber.ErrorInfo{
			Type: viber.CodeContextOverflow, Message: valid(e.Error()),
			Suggestion: "send a shorter history, or split the goal into several tasks",
		}, "")
	default:
		t.fail(viber.ErrorInfo{
			Type: viber.CodeProviderError, Message: valid(e.Error()), Recoverable: e.Retryable() || e.Cause == model.CauseTimeout || e.Cause == model.CauseBadData, Suggestion: suggestion(e),
		}, "")
	}
}

func suggestion(e *model.Error) string {
	switch {
	case e.Cause == model.CauseConnect, e.Cause == model.CauseTimeout:
		return "check that the provider can be reached, then submit again"
	case e.Status == 401 || e.Status == 403:
		return "check the provider's key"
	case e.Status == 429:
		return "the provider is busy or a quota is used up; wait and submit again"
	case e.Status >= 500:
		return "the provider has a problem of its own; submit again later"
	default:
		return "the provider refused the request; try another model or put the goal differently"
	}
}

package talk

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"parley.internal/internal/approval"
	"parley.internal/internal/brain/tool"
	"parley.internal/internal/identity"
	"parley.internal/internal/ids"
)

// ask is a question that waits.
type ask struct {
	id     string
	answer chan answered // the first answer; capacity 1
}

// answered is how a question came to its end.
type answered struct {
	content string
	by      string
	err     error
}

var askSchema = json.RawMessage(`{"type":"object","required":["questions"],"additionalProperties":false,"properties":{
"questions":{"type":"array","minItems":1,"maxItems":4,"items":{"type":"object","required":["question"],"additionalProperties":false,"properties":{
"question":{"type":"string"},"header":{"type":"string"},"multi_select":{"type":"boolean"},
"options":{"type":"array","maxItems":8,"items":{"type":"object","required":["label"],"additionalProperties":false,"properties":{"label":{"type":"string"},"description":{"type":"string"}}}}}}}}}`)

func (r *running) askTool() *tool.Tool {
	return &tool.Tool{
		Name: toolAsk, Class: tool.ReadOnly, Asks: true, Schema: askSchema,
		Description: "Ask the person one to four questions and wait for the answer. Give options to choose from where you can.",
		Run: func(ctx context.Context, call tool.Call) (tool.Result, error) {
			args, err := tool.Arguments[struct {
				Questions []AskPart `json:"questions"`
			}](call)
			if err != nil {
				return tool.Result{}, err
			}
			return r.ask(ctx, args.Questions)
		},
	}
}

// ask shows a question on the stream, on attached devices and in the inbox, and
// waits for whoever answers first.
func (r *running) ask(ctx context.Context, parts []AskPart) (tool.Result, error) {
	c := r.c.asked()
	if r.tn.NoStream && c.watched() == 0 {
		return tool.Result{}, tool.Errorf(tool.Denied, "the person cannot be asked here; decide yourself or say what you need to know in your answer")
	}
	limit := r.patience()
	q := &Question{ID: ids.New(), Expires: time.Now().Add(limit).UTC(), Parts: parts}
	a := &ask{id: q.ID, answer: make(chan answered, 1)}
	c.mu.Lock()
	c.asks = append(c.asks, a)
	c.mu.Unlock()
	defer c.withdraw(a)
	inbox := r.askInbox(ctx, q)
	r.c.feed.publish(Event{Kind: Ask, Run: r.tn.id, Agent: r.speaker, Ask: q})
	timer := time.NewTimer(limit)
	defer timer.Stop()
	defer r.waitForPerson(ctx)()
	out := r.awaitAnswer(ctx, a, inbox, timer.C)
	r.c.feed.publish(Event{Kind: AskResolved, Run: r.tn.id, Ask: &Question{ID: q.ID}, By: out.by})
	if inbox != nil && out.by != byInbox {
		c.t.withdrawn(q.ID, "answered elsewhere or no longer asked")
	}
	return tool.Result{Text: out.content}, out.err
}

// patience is how long questions of this run wait.
func (r *running) patience() time.Duration {
	return cmp.Or(r.agent.ApprovalTimeout, r.c.t.d.Limits.AskTimeout)
}

// waitForPerson is for as long as the run only waits: its clock stands still, with those of
// whoever delegated, and its place among the hub's runs is somebody else's.
func (r *running) waitForPerson(ctx context.Context) (goOn func()) {
	root := r
	var clocks []func()
	for at := r; at != nil; at = at.caller {
		root = at
		clocks = append(clocks, at.clock.Wait())
	}
	root.place.leave()
	return func() {
		root.place.comeBack(ctx)
		for _, start := range clocks {
			start()
		}
	}
}

// By whom a question was resolved.
const (
	byReply   = "reply"
	byInbox   = "inbox"
	byTimeout = "timeout"
	byCancel  = "cancelled"
)

func (r *running) awaitAnswer(ctx context.Context, a *ask, inbox *approval.Pending, late <-chan time.Time) answered {
	var decided <-chan struct{}
	if inbox != nil {
		decided = inbox.Done()
	}
	for {
		select {
		case out := <-a.answer:
			return out
		case <-ctx.Done():
			return answered{by: byCancel, err: context.Cause(ctx)}
		case <-late:
			return answered{by: byTimeout, err: tool.Errorf(tool.TimedOut, "nobody answered within %s; go on without the answer", r.patience())}
		case <-decided:
			decided = nil
			o, err := inbox.Wait(ctx)
			switch {
			case err != nil, o.State == approval.StateExpired, o.State == approval.StateCancelled:
				// The inbox has given up; the stream may still answer.
			case !o.Approved():
				return answered{by: byInbox, err: tool.Errorf(tool.Rejected, "the person does not want to answer this")}
			default:
				return answered{by: byInbox, content: inboxAnswer(inbox.Item(), o)}
			}
		}
	}
}

// inboxAnswer has the form our clients give answers: an object from question to
// label.
func inboxAnswer(item approval.Item, o approval.Outcome) string {
	out := map[string]string{}
	for i, text := range o.Answers {
		if i < len(item.Questions) {
			out[item.Questions[i].Question] = text
		}
	}
	raw, _ := json.Marshal(out)
	return string(raw)
}

func (r *running) askInbox(ctx context.Context, q *Question) *approval.Pending {
	c := r.c
	if c.t.d.Inbox == nil {
		return nil
	}
	req := approval.Request{
		ID: q.ID, Principal: c.person, Kind: approval.KindAsk, Title: q.Parts[0].Question, Tool: toolAsk,
		RequestedBy: "agent:" + r.speaker, OnBehalfOf: c.key.Sender, Conversation: c.id, Timeout: r.patience(), Asker: approval.AskerOf(r.tn.By), Policy: r.answerable(approval.Policy{}),
	}
	for _, p := range q.Parts {
		part := approval.Question{Question: p.Question, Header: p.Header, MultiSelect: p.MultiSelect}
		for _, o := range p.Options {
			part.Options = append(part.Options, approval.Option(o))
		}
		req.Questions = append(req.Questions, part)
	}
	p, err := c.t.d.Inbox.Ask(ctx, req)
	if err != nil {
		c.t.d.Log.Warn("a question is not in the inbox", "conversation", c.id, "error", err)
		return nil
	}
	return p
}

// withdrawn takes something out of the inbox; the run it was of may be over.
func (t *Talk) withdrawn(id, reason string) {
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	if _, err := t.d.Inbox.Cancel(ctx, id, reason); err != nil && !errors.Is(err, approval.ErrNotFound) {
		t.d.Log.Warn("cannot withdraw a question", "id", id, "error", err)
	}
}

func (c *conversation) withdraw(a *ask) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asks = slices.DeleteFunc(c.asks, func(other *ask) bool { return other == a })
}

// Reply answers the oldest open question, or the one that is named.
func (t *Talk) Reply(ctx context.Context, who identity.Actor, key Key, askID, content string) error {
	conv, err := t.find(ctx, who, key)
	if errors.Is(err, ErrNotFound) {
		return ErrNoQuestion
	}
	if err != nil {
		return err
	}
	err = t.control(ctx, conv.ID, question{Op: ctlReply, Ask: askID, Content: content})
	if errors.Is(err, ErrNotActive) {
		return ErrNoQuestion
	}
	return err
}

// reply gives an answer to the run, at once.
func (c *conversation) reply(askID, content string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, a := range c.asks {
		if askID == "" || a.id == askID {
			a.answer <- answered{content: content, by: byReply} // removed below: it has one at most
			c.asks = slices.Delete(c.asks, i, i+1)
			return nil
		}
	}
	return ErrNoQuestion
}

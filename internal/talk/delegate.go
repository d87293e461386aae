package talk

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"parley.internal/internal/brain/tool"
	"parley.internal/internal/ids"
	"parley.internal/internal/talk/memory"
)

// Limits of delegation.
const (
	maxDelegates   = 32 // per run, those of its delegates included
	maxDepth       = 2
	delegationLife = 30 * 24 * time.Hour // delegated conversations are removed then
)

// delegations counts what one run of a person has delegated, all the way down.
type delegations struct {
	mu sync.Mutex
	n  int
}

// reserve reserves numbers for n delegations.
func (d *delegations) reserve(n int) (first int, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.n+n > maxDelegates {
		return 0, false
	}
	first = d.n + 1
	d.n += n
	return first, true
}

type delegateTask struct {
	Agent   string `json:"agent"`
	Message string `json:"message"`
}

type delegateResult struct {
	Agent   string `json:"agent"`
	Result  string `json:"result"`
	Error   string `json:"error"`
	tainted bool
}

func (r *running) delegateTool() *tool.Tool {
	return &tool.Tool{
		Name: toolDelegate, Class: tool.Mutating, Timeout: -1, // the run's own limit holds
		Description: "Give tasks to other agents, who work side by side and know nothing but the message. Answers with a list of results.",
		Schema: json.RawMessage(`{"type":"object","required":["tasks"],"additionalProperties":false,"properties":{"tasks":{"type":"array","minItems":1,"maxItems":8,
"items":{"type":"object","required":["agent","message"],"additionalProperties":false,"properties":{"agent":{"type":"string"},"message":{"type":"string"}}}}}}`),
		Run: func(ctx context.Context, call tool.Call) (tool.Result, error) {
			args, err := tool.Arguments[struct{ Tasks []delegateTask }](call)
			if err != nil {
				return tool.Result{}, err
			}
			return r.delegate(ctx, args.Tasks, call.Tainted)
		},
	}
}

// delegate has other agents do the tasks. What a tainted run asks of them was perhaps
// a stranger's idea, so they begin tainted.
func (r *running) delegate(ctx context.Context, tasks []delegateTask, tainted bool) (tool.Result, error) {
	if r.depth >= maxDepth {
		return tool.Result{}, tool.Errorf(tool.Denied, "delegated work may not be delegated further than %d levels; do it yourself", maxDepth)
	}
	for _, task := range tasks {
		if !r.agent.HasMember(task.Agent) || task.Agent == r.speaker {
			return tool.Result{}, tool.Errorf(tool.Denied, "%q is not one of your members", task.Agent)
		}
		if _, err := r.c.t.agent(task.Agent); err != nil {
			return tool.Result{}, tool.Errorf(tool.NotFound, "%w", err)
		}
	}
	first, ok := r.delegated.reserve(len(tasks))
	if !ok {
		return tool.Result{}, tool.Errorf(tool.Denied, "a run may delegate at most %d tasks in all", maxDelegates)
	}
	results := make([]delegateResult, len(tasks))
	var wg sync.WaitGroup
	for i, task := range tasks {
		wg.Go(func() { results[i] = r.delegateOne(ctx, task, first+i, tainted) })
	}
	wg.Wait()
	out := tool.Result{Source: "delegate"}
	for _, res := range results {
		out.Untrusted = out.Untrusted || res.tainted
	}
	raw, err := json.Marshal(results)
	out.Text = string(raw)
	return out, err
}

// delegateOne runs one task in a hidden conversation of its own, under the
// caller's budget, deadline and cancel.
func (r *running) delegateOne(ctx context.Context, task delegateTask, n int, tainted bool) delegateResult {
	out := delegateResult{Agent: task.Agent}
	child, err := r.child(ctx, task, n)
	if err == nil {
		child.tainted = tainted
		err = child.begin()
	}
	if err != nil {
		if child != nil {
			child.c.letGo()
		}
		out.Error = err.Error()
		return out
	}
	outcome := child.run(ctx)
	child.finish(outcome)
	child.c.letGo()
	out.Result, out.Error, out.tainted = outcome.Text, errorText(outcome.Err), outcome.Tainted
	return out
}

func (r *running) child(ctx context.Context, task delegateTask, n int) (*running, error) {
	agent, err := r.c.t.agent(task.Agent)
	if err != nil {
		return nil, err
	}
	key := Key{Agent: task.Agent, Sender: fmt.Sprintf("delegate:%s:%d", r.tn.id, n)}
	conv, err := r.c.t.d.Memory.Open(ctx, key, true)
	if err != nil {
		return nil, err
	}
	// Whoever looks for what a dead hub left must see that this run lives.
	lease, err := r.c.t.d.Leases.Acquire(ctx, memory.LeaseName(conv.ID))
	if err != nil {
		return nil, err
	}
	c := &conversation{t: r.c.t, id: conv.ID, key: key, lease: lease, feed: r.feedOf(conv), caller: r.c, person: r.c.person, whose: r.c.whose, window: window{memory.Window{Conversation: conv}}}
	tn := &turn{order: order{Kind: orderTurn, Content: task.Message, Detached: true, NoStream: r.tn.NoStream, By: r.actor()}, id: ids.New()}
	return &running{
		c: c, j: &job{turn: tn, cancel: func(error) {}}, tn: tn, speaker: task.Agent, began: time.Now(),
		caller: r, depth: r.depth + 1, delegated: r.delegated, meter: r.meter.Child(agent.Name, agent.Budget),
	}, nil
}

// feedOf is the feed of a delegation. Nobody attaches to it, but what waits for a
// person is shown where they are.
func (r *running) feedOf(conv memory.Conversation) *feed {
	return &feed{id: conv.ID, key: conv.Key, hidden: true, subs: map[*sub]struct{}{}, relay: func(_ *feed, _ mark, ev Event) {
		switch ev.Kind {
		case Waiting, Ask, AskResolved:
			ev.Run = r.tn.id
			r.c.feed.publish(ev)
		}
	}}
}

// letGo gives a delegation back that has ended.
func (c *conversation) letGo() {
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	if err := c.lease.Release(ctx); err != nil {
		c.t.d.Log.Warn("cannot release a delegation", "conversation", c.id, "error", err)
	}
}

// asked is the conversation in which a person sees the questions of this one: that of
// whoever delegated.
func (c *conversation) asked() *conversation {
	for c.caller != nil {
		c = c.caller
	}
	return c
}

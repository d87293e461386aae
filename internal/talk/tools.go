package talk

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"parley.internal/internal/brain/tool"
)

// The tools conversations have of their own.
const (
	toolAsk      = "ask_user"
	toolRecall   = "recall"
	toolRemember = "remember"
	toolForget   = "forget"
	toolCompact  = "compact"
	toolDelegate = "delegate"
	toolSkill    = "skill"
)

// tools is the set a run may use: what the agent's file lists, and of a guest only
// its read-only guest_tools.
func (r *running) tools(ctx context.Context) (*tool.Set, error) {
	names := r.agent.Tools
	if r.guest() {
		if names = r.agent.GuestTools; len(names) == 0 {
			return nil, nil
		}
	}
	list := r.own(names)
	more, err := r.provided(ctx, names)
	if err != nil {
		r.c.t.d.Log.Warn("some tools are missing", "agent", r.speaker, "error", err)
		r.c.feed.publish(Event{Kind: Notice, Run: r.tn.id, Code: "tools_missing", Text: valid("some tools are not available: " + err.Error())})
	}
	for _, t := range more {
		if !slices.ContainsFunc(list, func(own *tool.Tool) bool { return own.Name == t.Name }) {
			list = append(list, t)
		}
	}
	if r.guest() {
		list = harmless(list)
	}
	for i, t := range list {
		list[i] = r.narrow.guard(t)
	}
	list = r.tn.withTools(list)
	return tool.NewSet(r.c.t.d.Mask, list...)
}

func (r *running) provided(ctx context.Context, names []string) ([]*tool.Tool, error) {
	if r.c.t.d.Tools == nil {
		return nil, nil
	}
	return r.c.t.d.Tools(ctx, ToolScope{
		Agent: r.agent, Names: names, Sender: r.c.key.Sender, Conversation: r.c.id, Run: r.tn.id, Guest: r.guest(), Workspace: r.workspace(),
		Tell: func(text string) {
			r.c.feed.publish(Event{Kind: Notice, Run: r.tn.id, Code: "tools_awaited", Text: valid(text)})
		},
	})
}

// own gives talk's tools among names. A guest has no memory here to use.
func (r *running) own(names []string) (list []*tool.Tool) {
	all := []*tool.Tool{r.askTool(), r.skillTool()}
	if !r.guest() {
		all = append(all, r.recallTool(), r.rememberTool(), r.forgetTool(), r.compactTool(), r.delegateTool())
	}
	for _, t := range all {
		if slices.Contains(names, t.Name) || slices.Contains(names, "*") {
			list = append(list, t)
		}
	}
	return list
}

// harmless keeps read-only tools. One that is read-only for some arguments only
// may be called with those.
func harmless(list []*tool.Tool) (kept []*tool.Tool) {
	for _, t := range list {
		if t.Class != tool.ReadOnly {
			continue
		}
		if t.ClassOf == nil {
			kept = append(kept, t)
			continue
		}
		only := *t
		run := t.Run
		only.ClassOf = nil
		only.Run = func(ctx context.Context, call tool.Call) (tool.Result, error) {
			if t.ClassOf(call.Arguments) != tool.ReadOnly {
				return tool.Result{}, tool.Errorf(tool.Denied, "a guest may only read: %s cannot be called like this here", t.Name)
			}
			return run(ctx, call)
		}
		kept = append(kept, &only)
	}
	return kept
}

// narrowing holds what skills in use allow. It only ever gets narrower.
type narrowing struct {
	mu      sync.Mutex
	skill   string
	allowed []string
	on      bool
}

// use takes a skill's allowed tools into account.
func (n *narrowing) use(s Skill) {
	if s.AllowedTools == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.on {
		n.on, n.allowed = true, slices.Clone(s.AllowedTools)
	}
	n.skill = s.Name
	n.allowed = slices.DeleteFunc(n.allowed, func(name string) bool { return !slices.Contains(s.AllowedTools, name) })
}

// refusal is why the skills in use do not allow a tool; nil if they do.
func (n *narrowing) refusal(name string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.on || name == toolSkill || slices.Contains(n.allowed, name) {
		return nil
	}
	return tool.Errorf(tool.Denied, "the skill %s does not allow %s", n.skill, name)
}

// guard makes a tool obey the skills in use.
func (n *narrowing) guard(t *tool.Tool) *tool.Tool {
	guarded := *t
	guarded.Refuses = func(ctx context.Context, call tool.Call) error {
		if err := n.refusal(t.Name); err != nil {
			return err
		}
		return t.Refusal(ctx, call)
	}
	guarded.Run = func(ctx context.Context, call tool.Call) (tool.Result, error) {
		if err := n.refusal(t.Name); err != nil {
			return tool.Result{}, err
		}
		return t.Run(ctx, call)
	}
	return &guarded
}

func said(format string, args ...any) (tool.Result, error) {
	return tool.Result{Text: fmt.Sprintf(format, args...)}, nil
}

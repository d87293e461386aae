package work

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley.internal/internal/brain"
	"parley.internal/internal/brain/skillfile"
	"parley.internal/internal/brain/tool"
	"parley.internal/internal/owner"
	"parley.internal/protocol/viber"
)

// The tools tasks have of their own.
const (
	toolAskUser = "ask_user"
	toolRecall  = "recall"
	toolSkill   = "skill"
	toolPlan    = "plan_update"
)

// toolSet is what the agent may use: work's own tools that its file lists, and
// more. Of two of a name, work's own counts.
func (t *task) toolSet(agent *brain.Agent, more []*tool.Tool) (*tool.Set, error) {
	var list []*tool.Tool
	for _, own := range t.ownTools(agent) {
		if own.Name == toolPlan || listed(agent.Tools, own.Name) {
			list = append(list, own)
		}
	}
	for _, m := range more {
		if !slices.ContainsFunc(list, func(have *tool.Tool) bool { return have.Name == m.Name }) {
			list = append(list, m)
		}
	}
	return tool.NewSet(t.w.d.Mask, list...)
}

// listed reports whether an agent's file names a tool, or the group it is in.
func listed(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool {
		return n == "*" || n == name || n == "terminal" && strings.HasPrefix(name, "terminal_")
	})
}

func (t *task) ownTools(agent *brain.Agent) []*tool.Tool {
	list := []*tool.Tool{askUserTool(), t.skillTool(agent)}
	if t.w.d.Recall != nil {
		list = append(list, t.recallTool())
	}
	if p := t.spec.Submit.Plan; p != nil && p.Steps != nil {
		list = append(list, t.planTool())
	}
	if t.w.d.Terminals != nil {
		list = append(list, t.terminalTools(agent)...)
	}
	return list
}

// askUserTool never runs: the task itself asks.
func askUserTool() *tool.Tool {
	return &tool.Tool{
		Name: toolAskUser, Class: tool.ReadOnly, Asks: true,
		Description: "Ask the person one to four questions and wait for the answers. Give options to choose from where you can.",
		Schema: json.RawMessage(`{"type":"object","required":["questions"],"additionalProperties":false,"properties":{
"questions":{"type":"array","minItems":1,"maxItems":4,"items":{"type":"object","required":["question"],"additionalProperties":false,"properties":{
"question":{"type":"string"},"header":{"type":"string"},"multi_select":{"type":"boolean"},
"options":{"type":"array","maxItems":8,"items":{"type":"object","required":["label"],"additionalProperties":false,"properties":{"label":{"type":"string"},"description":{"type":"string"}}}}}}}}}`),
		Run: func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Result{}, errors.New("questions are asked by the task")
		},
	}
}

func (t *task) skillTool(agent *brain.Agent) *tool.Tool {
	skills := skillfile.Select(t.w.d.Skills(), agent.Skills)
	own := skillfile.Tool(func(tool.Call) []skillfile.Skill { return skills })
	run := own.Run
	own.Run = func(ctx context.Context, call tool.Call) (tool.Result, error) {
		res, err := run(ctx, call)
		args := struct{ Name string }{}
		if err == nil && json.Unmarshal(call.Arguments, &args) == nil {
			for _, s := range skills {
				if s.Name == args.Name {
					t.post(func() { t.useSkill(s) }) // before the result: the mailbox keeps the order
				}
			}
		}
		return res, err
	}
	return own
}

// useSkill narrows the tools to what the skill allows, for good.
func (t *task) useSkill(s skillfile.Skill) {
	if slices.Contains(t.state.Skills, s.Name) || t.ending {
		return
	}
	t.state.Skills = append(t.state.Skills, s.Name)
	t.inUse = append(t.inUse, s)
	t.out.row = true
}

func (t *task) recallTool() *tool.Tool {
	return &tool.Tool{
		Name: toolRecall, Class: tool.ReadOnly, Description: "Search your memory of this person: earlier conversations, their summaries and notes.",
		Schema: json.RawMessage(`{"type":"object","required":["query"],"additionalProperties":false,"properties":{"query":{"type":"string","minLength":1},"limit":{"type":"integer","minimum":1,"maximum":20}}}`),
		Run: func(ctx context.Context, call tool.Call) (tool.Result, error) {
			args, err := tool.Arguments[struct {
				Query string `json:"query"`
				Limit int    `json:"limit"`
			}](call)
			if err != nil {
				return tool.Result{}, err
			}
			found, err := t.w.d.Recall(ctx, call.Agent, call.Principal, args.Query, args.Limit)
			if err != nil {
				return tool.Result{}, err
			}
			return object(found)
		},
	}
}

// planTool lets the agent say how far it is with the plan it was given.
func (t *task) planTool() *tool.Tool {
	return &tool.Tool{
		Name: toolPlan, Class: tool.ReadOnly, Description: "Say how far you are with the plan: set the status of one step.",
		Schema: json.RawMessage(`{"type":"object","required":["step","status"],"additionalProperties":false,"properties":{"step":{"type":"string"},"status":{"enum":["pending","in_progress","completed","blocked"]}}}`),
		Run: func(ctx context.Context, call tool.Call) (tool.Result, error) {
			args, err := tool.Arguments[struct {
				Step   string           `json:"step"`
				Status viber.StepStatus `json:"status"`
			}](call)
			if err != nil {
				return tool.Result{}, err
			}
			done := make(chan error, 1)
			if err := t.do(ctx, func() { done <- t.setStep(args.Step, args.Status) }); err != nil {
				return tool.Result{}, err
			}
			select {
			case err = <-done:
			case <-ctx.Done():
				err = context.Cause(ctx)
			case <-t.gone:
				err = owner.ErrGone
			}
			if err != nil {
				return tool.Result{}, err
			}
			return object(args)
		},
	}
}

// setStep changes a step of the plan.
func (t *task) setStep(id string, status viber.StepStatus) error {
	plan := t.state.Plan
	for i, s := range plan.Steps.Steps {
		if s.ID != id {
			continue
		}
		next := *plan.Steps
		next.Steps = slices.Clone(next.Steps)
		next.Steps[i].Status = status
		t.state.Plan = &viber.Plan{Steps: &next}
		if !slices.Contains(t.state.Touched, id) {
			t.state.Touched = append(t.state.Touched, id)
		}
		t.out.row = true
		t.progress("")
		return nil
	}
	return tool.Errorf(tool.NotFound, "the plan has no step %q", id)
}

// planUpdates tells how the plan changed, as a list.
func (t *task) planUpdates() string {
	if len(t.state.Touched) == 0 {
		return ""
	}
	marks := map[viber.StepStatus]string{viber.StepCompleted: "x", viber.StepInProgress: "~", viber.StepBlocked: "!", viber.StepPending: " "}
	var b strings.Builder
	for _, s := range t.state.Plan.Steps.Steps {
		if slices.Contains(t.state.Touched, s.ID) {
			fmt.Fprintf(&b, "- [%s] %s: %s\n", marks[s.Status], s.ID, s.Title)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// terminalTools let the agent use terminals that people can watch.
func (t *task) terminalTools(agent *brain.Agent) []*tool.Tool {
	owner := TerminalOwner{Actor: t.actor(), Workspace: t.w.workspace(t.principal, agent)}
	terminals := t.w.d.Terminals
	const waitMS = `"wait_ms":{"type":"integer","minimum":0,"maximum":60000}`
	return []*tool.Tool{
		{
			Name: "terminal_open", Class: tool.Sensitive, Description: "Open a terminal that people can watch and use. Without a command it is a shell.",
			Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{"name":{"type":"string"},"command":{"type":"string"},"cwd":{"type":"string"},
"rows":{"type":"integer","minimum":1,"maximum":1000},"cols":{"type":"integer","minimum":1,"maximum":1000}}}`),
			Run: func(ctx context.Context, call tool.Call) (tool.Result, error) {
				a, err := tool.Arguments[terminalArgs](call)
				if err != nil {
					return tool.Result{}, err
				}
				id, err := terminals.Open(ctx, owner, TerminalSpec{Name: a.Name, Command: a.Command, Cwd: a.Cwd, Size: viber.Size{Rows: a.Rows, Cols: a.Cols}, Call: call})
				if err != nil {
					return tool.Result{}, err
				}
				return object(map[string]string{"terminal_id": id})
			},
		},
		{
			Name: "terminal_send", Class: tool.Sensitive, Timeout: -1, Description: "Type into a terminal and read what it prints. Nothing is added: end a line with \\n.",
			Schema: json.RawMessage(`{"type":"object","required":["terminal_id","data"],"additionalProperties":false,"properties":{"terminal_id":{"type":"string"},"data":{"type":"string","maxLength":65536},` + waitMS + `}}`),
			Run: func(ctx context.Context, call tool.Call) (tool.Result, error) {
				a, err := tool.Arguments[terminalArgs](call)
				if err != nil {
					return tool.Result{}, err
				}
				return printed(terminals.Send(ctx, owner, a.ID, []byte(a.Data), a.wait()))
			},
		},
		{
			Name: "terminal_read", Class: tool.ReadOnly, Timeout: -1, Description: "Read what a terminal printed after a byte position, waiting for some up to wait_ms.",
			Schema: json.RawMessage(`{"type":"object","required":["terminal_id"],"additionalProperties":false,"properties":{"terminal_id":{"type":"string"},"after":{"type":"integer","minimum":0},` + waitMS + `}}`),
			Run: func(ctx context.Context, call tool.Call) (tool.Result, error) {
				a, err := tool.Arguments[terminalArgs](call)
				if err != nil {
					return tool.Result{}, err
				}
				return printed(terminals.Read(ctx, owner, a.ID, a.After, a.wait()))
			},
		},
		{
			Name: "terminal_close", Class: tool.Mutating, Description: "Close a terminal and end what runs in it.",
			Schema: json.RawMessage(`{"type":"object","required":["terminal_id"],"additionalProperties":false,"properties":{"terminal_id":{"type":"string"}}}`),
			Run: func(ctx context.Context, call tool.Call) (tool.Result, error) {
				a, err := tool.Arguments[terminalArgs](call)
				if err != nil {
					return tool.Result{}, err
				}
				if err := terminals.Close(ctx, owner, a.ID); err != nil {
					return tool.Result{}, err
				}
				return object(map[string]string{"terminal_id": a.ID})
			},
		},
	}
}

// hostedTerminals let an agent that is a program of its own look after the terminals that were opened for it.
func (t *task) hostedTerminals(owner TerminalOwner) brain.HostedTerminals {
	terminals := t.w.d.Terminals
	return brain.HostedTerminals{
		Read: func(ctx context.Context, id string, untilEnd bool) (printed string, cut bool, exit *int, err error) {
			out, err := terminals.Read(ctx, owner, id, 0, 0)
			for err == nil && untilEnd && out.Status == string(viber.TerminalRunning) {
				out, err = terminals.Read(ctx, owner, id, out.Offset, time.Minute)
			}
			if err == nil && out.Status != string(viber.TerminalRunning) {
				exit = cmp.Or(out.ExitCode, new(int))
			}
			return out.Data, int64(len(out.Data)) < out.Offset, exit, err
		},
		Close: func(ctx context.Context, id string) error { return terminals.Close(ctx, owner, id) },
	}
}

type terminalArgs struct {
	ID      string `json:"terminal_id"`
	Name    string `json:"name"`
	Command string `json:"command"`
	Cwd     string `json:"cwd"`
	Rows    int    `json:"rows"`
	Cols    int    `json:"cols"`
	Data    string `json:"data"`
	After   int64  `json:"after"`
	WaitMS  *int64 `json:"wait_ms"`
}

// wait is how long to wait for output; half a second shows what a command says.
func (a terminalArgs) wait() time.Duration {
	if a.WaitMS == nil {
		return 500 * time.Millisecond
	}
	return time.Duration(*a.WaitMS) * time.Millisecond
}

func printed(out TerminalOutput, err error) (tool.Result, error) {
	if err != nil {
		return tool.Result{}, err
	}
	out.Data, _ = tool.Clip(out.Data, tool.MaxOutput/4)
	res, err := object(out)
	res.Untrusted, res.Source = true, "terminal"
	return res, err
}

// object is a successful result with this output.
func object(output any) (tool.Result, error) {
	raw, err := json.Marshal(output)
	return tool.Result{Text: string(raw)}, err
}

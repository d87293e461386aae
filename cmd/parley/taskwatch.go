package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley.internal/client/viber"
	"parley.internal/internal/visible"
	"parley.internal/protocol/rest"
	wire "parley.internal/protocol/viber"
)

func alreadyRunning(err error) (*viber.Error, bool) {
	e, ok := errors.AsType[*viber.Error](err)
	return e, ok && e.Code == wire.CodeAlreadyRunning && e.TaskID != ""
}

// watch shows a task to its end and gives its outcome as exit code. Ctrl-C leaves
// the task running.
func (g *globals) watch(ctx context.Context, cmd *cobra.Command, _ *viber.Client, task *viber.Task, noWait bool) error {
	view := &taskView{cmd: cmd, json: g.json}
	for m, err := range task.Events(ctx) {
		if err != nil {
			view.line()
			if ctx.Err() != nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "the task goes on: parley task watch %s --after %d\n", task.ID(), view.last)
				return &exitError{code: exitCancelled}
			}
			return err
		}
		if err := view.show(m); err != nil {
			return err
		}
		if _, asks := m.Body.(*wire.ApprovalRequired); asks && noWait {
			view.line()
			return &exitError{exitWaiting, "a person must approve something; see 'parley approvals list'"}
		}
	}
	view.line()
	return view.outcome
}

// taskView prints events: the text on standard output, the rest beside it.
type taskView struct {
	cmd     *cobra.Command
	json    bool
	last    int64
	midway  bool // the text has not ended its line
	turn    int
	texted  bool
	outcome error
}

func (v *taskView) show(m wire.Message) error {
	if e, ok := m.Body.(wire.TaskEvent); ok {
		v.last = max(v.last, e.Ref().Seq)
	}
	v.end(m.Body)
	if v.json {
		frame, err := m.Encode()
		if err != nil {
			return err
		}
		fmt.Fprintln(v.cmd.OutOrStdout(), string(frame))
		return nil
	}
	switch p := m.Body.(type) {
	case *wire.TaskDelta:
		v.delta(p)
	case *wire.ApprovalRequired:
		v.note("waiting for approval %s: %s %s", p.ApprovalID, p.ToolCall.Name, p.ToolCall.ArgumentsText())
	case *wire.ApprovalResolved:
		v.note("%s%s", p.Outcome, because(p.Reason))
	case *wire.TaskUserMessage:
		v.note("you: %s", p.Message.Content)
	case *wire.TaskSnapshot:
		v.note("some events are gone; the text so far:")
		v.text(p.Text)
	case *wire.TaskCompleted:
		if !v.texted {
			v.text(p.Result.Text) // a task without deltas
		}
	}
	return nil
}

// end notes how the task ended.
func (v *taskView) end(p wire.Payload) {
	switch p := p.(type) {
	case *wire.TaskStopped:
		v.outcome = &exitError{exitStopped, "the task was stopped" + because(p.Reason)}
	case *wire.TaskError:
		if p.Ends() {
			text := fmt.Sprintf("the task failed: %s (%s)", p.Error.Message, p.Error.Type)
			if p.Error.Suggestion != "" {
				text += "; " + p.Error.Suggestion
			}
			v.outcome = &exitError{exitFailed, text}
		}
	}
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

func (v *taskView) delta(d *wire.TaskDelta) {
	switch d.DeltaType {
	case wire.DeltaText:
		if d.Turn != v.turn {
			v.line()
			v.turn = d.Turn
		}
		v.text(d.Text)
	case wire.DeltaToolCall:
		if d.ToolCall != nil && d.ToolCall.Name != "" {
			v.note("%s %s", d.ToolCall.Name, d.ToolCall.Arguments)
		}
	case wire.DeltaToolResult:
		if d.ToolResult != nil {
			v.note("→ %s", short(string(d.ToolResult.Result), 200))
		}
	}
}

// text prints what the agent says, which must not steer this terminal.
func (v *taskView) text(s string) {
	if s == "" {
		return
	}
	v.texted = true
	fmt.Fprint(v.cmd.OutOrStdout(), visible.Text(s))
	v.midway = !strings.HasSuffix(s, "\n")
}

// note is a remark on a line of its own.
func (v *taskView) note(format string, args ...any) {
	v.line()
	fmt.Fprintln(v.cmd.ErrOrStderr(), visible.Line(fmt.Sprintf(format, args...)))
}

// line ends a line that was begun.
func (v *taskView) line() {
	if v.midway && !v.json {
		fmt.Fprintln(v.cmd.OutOrStdout())
	}
	v.midway = false
}

// newTaskShow shows a task as it is now.
func newTaskShow(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show a task as it is now: state, text, what it waits for, why it failed", Args: exactly(1, "name one task; see 'parley task list'"),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := askBoard(g, cmd, rest.GetTask, rest.ByID{ID: args[0]})
			if err != nil {
				return err
			}
			return g.show(cmd, t, func(p *printer) { showTask(p, &t) })
		},
	}
	return jsonFlag(cmd, g)
}

func showTask(p *printer, t *wire.TaskSnapshot) {
	when := func(at wire.Time) string { return at.Local().Format(time.DateTime) }
	p.line(t.TaskID + " " + string(t.Status) + ": " + short(t.Goal, 200))
	p.line("agent " + t.Agent + ", started " + when(t.StartedAt))
	if !t.EndedAt.IsZero() {
		p.line("ended " + when(t.EndedAt))
	}
	if t.Error != nil {
		p.line("failed: " + string(t.Error.Type) + ": " + t.Error.Message)
	}
	for _, q := range t.PendingApprovals {
		p.line("waits for approval " + q.ApprovalID + ": " + q.ToolCall.Name + " " + q.ToolCall.ArgumentsText())
	}
	if t.Text != "" {
		p.line(t.Text)
	}
}

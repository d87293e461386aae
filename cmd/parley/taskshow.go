package main

import (
	"time"

	"github.com/spf13/cobra"

	"parley/protocol/rest"
	wire "parley/protocol/viber"
)

// newTaskShow shows a task as it is now.
func newTaskShow(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show a task as it is now: state, text, what it waits for, why it failed", Args: exactly(1, "name one task; see 'parley task list'"),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := ask(g, cmd, rest.GetTask, rest.ByID{ID: args[0]})
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

package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/cobra"
)

func newApprovals(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "approvals", Short: "See and answer what waits for you", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newApprovalsList(g), newApprove(g), newReject(g))
	return cmd
}

// waiting is a question in the hub's inbox.
type waiting struct {
	ID          string          `json:"id"`
	Kind        string          `json:"kind"`
	Title       string          `json:"title,omitempty"`
	Tool        string          `json:"tool,omitempty"`
	Arguments   json.RawMessage `json:"arguments"`
	Target      string          `json:"target,omitempty"`
	Reason      string          `json:"reason,omitempty"`
	RequestedBy string          `json:"requested_by,omitempty"`
	Task        string          `json:"task_id,omitempty"`
	Created     time.Time       `json:"created_at"`
	Expires     time.Time       `json:"expires_at"`
	Outcome     string          `json:"outcome"`
	By          string          `json:"by,omitempty"`
	Answer      string          `json:"answer_reason,omitempty"`
}

func newApprovalsList(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "What waits for you", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, done, err := g.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer done()
			var out struct {
				Approvals []waiting `json:"approvals"`
			}
			if err := c.Do(cmd.Context(), "GET", "/api/approvals", nil, nil, &out); err != nil {
				return err
			}
			return g.show(cmd, out.Approvals, func(p *printer) {
				p.table("ID", "FROM", "LEFT", "WHAT")
				for _, a := range out.Approvals {
					what := a.Tool + " " + string(a.Arguments)
					if a.Tool == "" {
						what = firstOf(a.Title, a.Reason, a.Kind)
					}
					p.row(a.ID, a.RequestedBy, time.Until(a.Expires).Round(time.Second).String(), short(what, 100))
				}
			})
		},
	}
	return jsonFlag(cmd, g)
}

// answerApproval is the body of an answer.
type answerApproval struct {
	Approved bool     `json:"approved"`
	Reason   string   `json:"reason,omitempty"`
	Remember string   `json:"remember,omitempty"`
	Answers  []string `json:"answers,omitempty"`
}

func (g *globals) answer(cmd *cobra.Command, id string, a answerApproval) error {
	c, done, err := g.connect(cmd.Context())
	if err != nil {
		return err
	}
	defer done()
	var out waiting
	if err := c.Do(cmd.Context(), "POST", "/api/approvals/"+url.PathEscape(id), nil, a, &out); err != nil {
		return err
	}
	want := "rejected"
	if a.Approved {
		want = "approved"
	}
	err = g.show(cmd, out, func(p *printer) { p.line(out.Outcome + " " + out.ID) })
	if err == nil && out.Outcome != want && out.Outcome != "pending" {
		// Somebody, or the time, was quicker: what holds is what was recorded.
		err = &exitError{exitFailed, fmt.Sprintf("it was %s already%s", out.Outcome, because(out.Answer))}
	}
	return err
}

func newApprove(g *globals) *cobra.Command {
	var a answerApproval
	var forTask bool
	cmd := &cobra.Command{
		Use: "approve ID", Short: "Allow it", Args: exactly(1, "name one approval; see 'parley approvals list'"),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.Approved = true
			if forTask {
				a.Remember = "task"
			}
			return g.answer(cmd, args[0], a)
		},
	}
	cmd.Flags().BoolVar(&forTask, "for-task", false, "the same call may run again until the task ends")
	cmd.Flags().StringArrayVar(&a.Answers, "answer", nil, "the answer to a question; once per question")
	cmd.Flags().StringVar(&a.Reason, "reason", "", "a remark")
	return jsonFlag(cmd, g)
}

func newReject(g *globals) *cobra.Command {
	var a answerApproval
	cmd := &cobra.Command{
		Use: "reject ID", Short: "Refuse it; the agent is told why", Args: exactly(1, "name one approval; see 'parley approvals list'"),
		RunE: func(cmd *cobra.Command, args []string) error { return g.answer(cmd, args[0], a) },
	}
	cmd.Flags().StringVar(&a.Reason, "reason", "", "why not")
	return jsonFlag(cmd, g)
}

package main

import (
	"context"
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"parley/client/hubapi"
)

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

// enough refuses a yes that leaves questions open: the agent would get no answer.
func (a answerApproval) enough(w waiting) error {
	if w.Outcome != "pending" || w.Kind != "ask_user" || len(a.Answers) == len(w.Questions) {
		return nil
	}
	return usageError("it asks %d question(s); say --answer once for each: %s", len(w.Questions), w.what())
}

func newApprove(g *globals) *cobra.Command {
	var a answerApproval
	var forTask bool
	cmd := &cobra.Command{
		Use: "approve ID", Short: "Allow it, or answer its questions", Args: exactly(1, "name one approval; see 'parley approvals list'"),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.Approved = true
			if forTask {
				a.Remember = "task"
			}
			err := g.onHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				w, err := approvalByID(ctx, c, args[0])
				if err != nil {
					return err
				}
				return a.enough(w)
			})
			if err != nil {
				return err
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

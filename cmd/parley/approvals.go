package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley/protocol/rest"
)

func newApprovals(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "approvals", Short: "See and answer what waits for you", Args: cobra.NoArgs,
		Long: `What waits for a person before it happens, and the answers.

  parley approvals list                       in one line each
  parley approvals show ID                    all of one: what exactly, who wants it, by what
  parley approvals approve ID                 allow it
  parley approvals approve ID --answer TEXT   answer a question, once per question
  parley approvals reject ID                  refuse it

The token that asked, and whatever it made, does not answer: use the page, or a token of
another device of yours.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newApprovalsList(g), newApprovalsShow(g), newApprove(g), newReject(g))
	return cmd
}

// whatIsAsked is a question in one line.
func whatIsAsked(w rest.Approval) string {
	switch {
	case len(w.Questions) > 0:
		var parts []string
		for _, q := range w.Questions {
			parts = append(parts, questionText(q))
		}
		return strings.Join(parts, " / ")
	case w.Tool == "":
		return firstOf(w.Title, w.Reason, w.Kind)
	}
	return w.Tool + " " + string(w.Arguments)
}

// questionText is a question with its options.
func questionText(q rest.Question) string {
	if len(q.Options) == 0 {
		return q.Question
	}
	var labels []string
	for _, o := range q.Options {
		labels = append(labels, o.Label)
	}
	return q.Question + " [" + strings.Join(labels, "|") + "]"
}

// askedBy is who wants it, by what.
func askedBy(w rest.Approval) string {
	if w.Asker == nil || w.Asker.Via == "" {
		return w.RequestedBy
	}
	return w.RequestedBy + " (" + w.Asker.Via + ")"
}

func newApprovalsList(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "What waits for you", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := ask(g, cmd, rest.ListApprovals, rest.ApprovalQuery{})
			if err != nil {
				return err
			}
			return g.show(cmd, list.Approvals, func(p *printer) {
				p.table("ID", "FROM", "MACHINES", "LEFT", "WHAT")
				for _, a := range list.Approvals {
					p.row(a.ID, short(askedBy(a), 60), short(strings.Join(a.Machines, ","), 40), time.Until(a.Expires).Round(time.Second).String(), short(whatIsAsked(a), 100))
				}
			})
		},
	}
	return jsonFlag(cmd, g)
}

func newApprovalsShow(g *globals) *cobra.Command {
	return jsonFlag(&cobra.Command{
		Use: "show ID", Short: "All of one question: what exactly would happen, who wants it, by what", Args: exactly(1, "name one approval; see 'parley approvals list'"),
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := ask(g, cmd, rest.GetApproval, rest.ByID{ID: args[0]})
			if err != nil {
				return err
			}
			return g.show(cmd, w, func(p *printer) { printApproval(p, w) })
		},
	}, g)
}

// printApproval shows all of a question. Nothing is cut: this is what one decides by.
func printApproval(p *printer, w rest.Approval) {
	field := func(name, text string) {
		if text != "" {
			p.line(fmt.Sprintf("%-10s %s", name, text))
		}
	}
	field("what", firstOf(w.Title, w.Kind))
	field("asked by", w.RequestedBy)
	field("for", w.OnBehalfOf)
	if w.Asker != nil {
		field("person", w.Asker.Person)
		field("by", w.Asker.Via)
		field("from", w.Asker.Address)
	}
	field("machines", strings.Join(w.Machines, ", "))
	field("on", w.Target)
	field("why", w.Reason)
	if w.Tainted != nil {
		field("tainted", "words of others entered the run "+ago(w.Tainted.Since)+", first of "+w.Tainted.By)
	}
	if w.NotAsker {
		field("answer", "by another person than the one who asked")
	}
	field("until", w.Expires.Local().Format(time.DateTime))
	field("outcome", w.Outcome)
	field("tool", w.Tool)
	if len(w.Questions) == 0 || w.Kind == "skill" {
		p.line("")
		printArguments(p, w.Arguments)
	}
	for i, q := range w.Questions {
		p.line(fmt.Sprintf("\n%d. %s", i+1, q.Question))
		for _, o := range q.Options {
			p.line("   - " + o.Label + because(o.Description))
		}
	}
}

// printArguments shows strings as they will be used, and the rest as JSON.
func printArguments(p *printer, raw json.RawMessage) {
	var args map[string]json.RawMessage
	if json.Unmarshal(raw, &args) != nil {
		p.line(string(raw))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		var text string
		if json.Unmarshal(args[name], &text) != nil {
			text = indented(args[name])
		}
		p.line(name + ":\n  " + strings.ReplaceAll(text, "\n", "\n  "))
	}
}

func (g *globals) answer(cmd *cobra.Command, id string, a rest.Answer) error {
	out, err := ask(g, cmd, rest.AnswerApproval, rest.ApprovalAnswer{ID: id, Body: a})
	if err != nil {
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
func enough(a rest.Answer, w rest.Approval) error {
	if w.Outcome != "pending" || w.Kind != "ask_user" || len(a.Answers) == len(w.Questions) {
		return nil
	}
	return usageError("it asks %d question(s); say --answer once for each: %s", len(w.Questions), whatIsAsked(w))
}

func newApprove(g *globals) *cobra.Command {
	var a rest.Answer
	var forTask bool
	cmd := &cobra.Command{
		Use: "approve ID", Short: "Allow it, or answer its questions", Args: exactly(1, "name one approval; see 'parley approvals list'"),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.Approved = true
			if forTask {
				a.Remember = "task"
			}
			w, err := ask(g, cmd, rest.GetApproval, rest.ByID{ID: args[0]})
			if err == nil {
				err = enough(a, w)
			}
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
	var a rest.Answer
	cmd := &cobra.Command{
		Use: "reject ID", Short: "Refuse it; the agent is told why", Args: exactly(1, "name one approval; see 'parley approvals list'"),
		RunE: func(cmd *cobra.Command, args []string) error { return g.answer(cmd, args[0], a) },
	}
	cmd.Flags().StringVar(&a.Reason, "reason", "", "why not")
	return jsonFlag(cmd, g)
}

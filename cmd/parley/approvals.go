package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley.internal/internal/visible"
	"parley.internal/protocol/rest"
)

func newApprovals(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "approvals", Short: "See and answer what waits for you", Args: cobra.NoArgs,
		Long: `What waits for a person before it happens, and the answers.

  parley approvals list                       in one line each
  parley approvals show ID                    all of one: what exactly, who wants it, by what
  parley approvals approve ID [ID …]          allow it, or several at once
  parley approvals approve ID --always        allow it, and what is like it from now on
  parley approvals approve ID --answer TEXT   answer a question, once per question
  parley approvals reject ID [ID …]           refuse it

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

// answerEach gives several questions one answer. One that cannot have it keeps none of the
// others from it; the first that failed is told.
func answerEach(ids []string, answer func(id string) error) (failed error) {
	for _, id := range ids {
		if err := answer(id); err != nil {
			if len(ids) > 1 {
				err = fmt.Errorf("%s: %w", id, err)
			}
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

func newApprove(g *globals) *cobra.Command {
	var a rest.Answer
	var forTask bool
	var always alwaysFlags
	cmd := &cobra.Command{
		Use: "approve ID [ID …]", Short: "Allow it, or answer its questions", Args: atLeast(1, "name an approval, or several; see 'parley approvals list'"),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.Approved = true
			if forTask {
				a.Remember = "task"
			}
			return answerEach(args, func(id string) error {
				w, err := ask(g, cmd, rest.GetApproval, rest.ByID{ID: id})
				if err == nil {
					err = enough(a, w)
				}
				if err == nil {
					a.Always, err = always.terms(g, cmd, id)
				}
				if err != nil {
					return err
				}
				return g.answer(cmd, id, a)
			})
		},
	}
	cmd.Flags().BoolVar(&forTask, "for-task", false, "the same call may run again until the task ends")
	cmd.Flags().StringArrayVar(&a.Answers, "answer", nil, "the answer to a question; once per question")
	cmd.Flags().StringVar(&a.Reason, "reason", "", "a remark")
	always.add(cmd)
	return jsonFlag(cmd, g)
}

func newReject(g *globals) *cobra.Command {
	var a rest.Answer
	cmd := &cobra.Command{
		Use: "reject ID [ID …]", Short: "Refuse it; the agent is told why", Args: atLeast(1, "name an approval, or several; see 'parley approvals list'"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return answerEach(args, func(id string) error { return g.answer(cmd, id, a) })
		},
	}
	cmd.Flags().StringVar(&a.Reason, "reason", "", "why not")
	return jsonFlag(cmd, g)
}

// termFlags are how long and how often a rule holds, and what it is about.
type termFlags struct {
	command, arguments, until string
	life                      time.Duration
	uses                      int
	yes                       bool
}

func (f *termFlags) add(cmd *cobra.Command, prefix string) {
	flags := cmd.Flags()
	flags.StringVar(&f.command, "command", "", "the command it is for; end it with … (or ...) to allow any further words")
	flags.StringVar(&f.arguments, "arguments", "", `the arguments it is for, as JSON; "…" stands for any value`)
	flags.DurationVar(&f.life, prefix+"for", 0, "how long it holds, such as 8h (default 30 days)")
	flags.StringVar(&f.until, "until", "", "when it ends: a day (2027-01-31) or a time (2027-01-31T18:00:00Z)")
	flags.IntVar(&f.uses, "times", 0, "how often it may answer (default 20)")
	flags.BoolVar(&f.yes, "yes", false, "make the rule without asking on the terminal")
}

func (f *termFlags) terms() (rest.RuleTerms, error) {
	t := rest.RuleTerms{Command: f.command, Uses: f.uses}
	if f.arguments != "" {
		if err := json.Unmarshal([]byte(f.arguments), &t.Arguments); err != nil {
			return t, usageError("--arguments wants a JSON object: %s", err)
		}
	}
	switch {
	case f.life < 0 || f.uses < 0 || f.life > 0 && f.until != "":
		return t, usageError("say how long it holds once, and nothing below zero")
	case f.life > 0:
		t.Until = time.Now().Add(f.life)
	case f.until != "":
		at, err := endOf(f.until)
		if err != nil {
			return t, usageError("%s", err)
		}
		t.Until = at
	}
	return t, nil
}

// alwaysFlags make a rule of a yes.
type alwaysFlags struct {
	termFlags
	always bool
}

func (f *alwaysFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.always, "always", false, "also make a standing rule: calls like this one are not asked about any more")
	f.termFlags.add(cmd, "always-")
}

// terms tells the rule that a yes would make, asks, and gives what it is made by.
func (f *alwaysFlags) terms(g *globals, cmd *cobra.Command, id string) (*rest.RuleTerms, error) {
	if !f.always && f.life == 0 {
		if f.command+f.arguments+f.until != "" || f.uses != 0 {
			return nil, usageError("this says what a rule is like; say --always to make one")
		}
		return nil, nil
	}
	terms, err := f.termFlags.terms()
	if err != nil {
		return nil, err
	}
	return &terms, f.told(g, cmd, rest.RuleRequest{Approval: id, RuleTerms: terms})
}

// told says in words what a rule would be and what it would have answered, before it is made.
func (f *termFlags) told(g *globals, cmd *cobra.Command, in rest.RuleRequest) error {
	trial, err := ask(g, cmd, rest.TryStandingRule, in)
	if err != nil {
		return err
	}
	text := trialText(trial)
	if f.yes {
		_, err = fmt.Fprintln(cmd.ErrOrStderr(), text)
		return err
	}
	return confirmed(cmd, text, text+"\nnothing was made: a rule spares questions")
}

// trialText is a rule in words, with what it would have done.
func trialText(t rest.RuleTrial) string {
	text := fmt.Sprintf("%s\nIt would have answered %d of your last %d questions about calls", visible.Line(t.Words), t.Answered, t.Asked)
	if t.Refused > 0 {
		text += fmt.Sprintf("; %d of them you refused", t.Refused)
	}
	return text + "."
}

func newRules(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "rules", Short: "What your agents may do without asking each time", Args: cobra.NoArgs,
		Long: `A standing rule answers in your place what you would be asked again and again: for one agent
and one tool, with exactly what it names, until its end and as often as it says.

  parley approvals approve ID --always        from a question
  parley rules try  --agent parley --command 'git status …'
  parley rules make --agent parley --command 'git status …' --for 168h --times 50
  parley rules list
  parley rules revoke ID

A rule answers nothing once the agent has read words of others, nothing that leaves the box
unless its host or folder is named, and nothing that policy.approvals wants people to agree to.
Only a person in person makes one: on a page of theirs, or on the hub's own machine.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newRulesList(g), newRulesTry(g), newRulesMake(g), newRulesRevoke(g))
	return cmd
}

func newRulesList(g *globals) *cobra.Command {
	return jsonFlag(&cobra.Command{
		Use: "list", Short: "Your rules, how often each was used, and when it ends", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out, err := ask(g, cmd, rest.ListStandingRules, rest.None{})
			if err != nil {
				return err
			}
			return g.show(cmd, out.Rules, func(p *printer) { showRules(p, out.Rules) })
		},
	}, g)
}

func showRules(p *printer, list []rest.StandingRule) {
	p.table("ID", "OF", "USED", "LAST", "ENDS", "RULE")
	for _, r := range list {
		last, ends := "never", r.Until.Local().Format(time.DateTime)
		if !r.UsedAt.IsZero() {
			last = ago(r.UsedAt)
		}
		if time.Now().After(r.Until) {
			ends = "over"
		}
		p.row(r.ID, r.Owner, fmt.Sprintf("%d of %d", r.Used, r.Uses), last, ends, r.Words)
	}
}

// ruleFlags are a rule, part by part.
type ruleFlags struct {
	termFlags
	in rest.RuleRequest
}

func (f *ruleFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.in.Approval, "from", "", "a question it is to answer from now on, instead of naming the parts")
	flags.StringVar(&f.in.Agent, "agent", "", "the agent it is for")
	flags.StringVar(&f.in.Tool, "tool", "", "the tool it is for (default shell, with --command)")
	flags.StringVar(&f.in.Folder, "folder", "", "where a command runs, in the agent's folder")
	flags.StringSliceVar(&f.in.Read, "read", nil, "a folder outside the box that it may read")
	flags.StringSliceVar(&f.in.Write, "write", nil, "a folder outside the box that it may change")
	flags.StringSliceVar(&f.in.Hosts, "host", nil, "a host that it may speak to")
	flags.StringSliceVar(&f.in.Machines, "machine", nil, "a machine that it may use")
	f.termFlags.add(cmd, "")
}

func (f *ruleFlags) request() (in rest.RuleRequest, err error) {
	in = f.in
	in.RuleTerms, err = f.terms()
	return in, err
}

func newRulesTry(g *globals) *cobra.Command {
	var f ruleFlags
	cmd := &cobra.Command{
		Use: "try", Short: "Tell a rule in words, and what it would have answered; none is made", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			in, err := f.request()
			if err != nil {
				return err
			}
			trial, err := ask(g, cmd, rest.TryStandingRule, in)
			if err != nil {
				return err
			}
			return g.show(cmd, trial, func(p *printer) { p.line(trialText(trial)) })
		},
	}
	f.add(cmd)
	return jsonFlag(cmd, g)
}

func newRulesMake(g *globals) *cobra.Command {
	var f ruleFlags
	cmd := &cobra.Command{
		Use: "make", Short: "Make a rule, after telling it in words", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			in, err := f.request()
			if err == nil {
				err = f.told(g, cmd, in)
			}
			if err != nil {
				return err
			}
			made, err := ask(g, cmd, rest.MakeStandingRule, in)
			if err != nil {
				return err
			}
			return g.show(cmd, made, func(p *printer) { p.line("made " + made.ID) })
		},
	}
	f.add(cmd)
	return jsonFlag(cmd, g)
}

func newRulesRevoke(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID [ID …]", Short: "Take a rule back, from the next call on", Args: atLeast(1, "name a rule, or several; see 'parley rules list'"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return answerEach(args, func(id string) error {
				_, err := ask(g, cmd, rest.RevokeStandingRule, rest.ByID{ID: id})
				return err
			})
		},
	}
}

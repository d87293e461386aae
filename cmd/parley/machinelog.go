package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"parley.internal/protocol/kenny"
	"parley.internal/protocol/rest"
)

func newMachineCalls(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "calls [ID]", Short: "The call log, newest first", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var q rest.CallQuery
			if len(args) == 1 {
				q.Machine = args[0]
			}
			return g.showCalls(cmd, q)
		},
	}
	return jsonFlag(cmd, g)
}

func (g *globals) showCalls(cmd *cobra.Command, q rest.CallQuery) error {
	page, err := ask(g, cmd, rest.ListCalls, q)
	if err != nil {
		return err
	}
	return g.show(cmd, page, func(p *printer) {
		p.table("AT", "CALL", "MACHINE", "TOOL", "WHO", "STATE", "MS", "WHY")
		for _, r := range page.Calls {
			p.row(r.At.Local().Format(time.DateTime), r.CallID, r.Machine, r.Tool, r.Actor, string(r.State), fmt.Sprint(r.DurationMS), r.Message)
		}
	})
}

func newMachineQueue(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "queue", Short: "Calls that wait for machines that are away", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	list := &cobra.Command{
		Use: "list", Short: "List them", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.showCalls(cmd, rest.CallQuery{States: []string{string(rest.StateQueued)}})
		},
	}
	cancel := &cobra.Command{
		Use: "cancel CALL", Short: "Take one out", Args: exactly(1, "name the call"),
		RunE: func(cmd *cobra.Command, args []string) error {
			st, err := ask(g, cmd, rest.CancelCall, rest.CallID{ID: args[0]})
			if err != nil {
				return callFailed(err)
			}
			return g.show(cmd, st, func(p *printer) { p.line(string(st.State)) })
		},
	}
	cmd.AddCommand(jsonFlag(list, g), jsonFlag(cancel, g))
	return cmd
}

func newMachineEvents(g *globals) *cobra.Command {
	var q rest.FleetEventQuery
	cmd := &cobra.Command{
		Use: "events [ID]", Short: "What happened around machines, and their logs, newest first", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				q.Machine = args[0]
			}
			page, err := ask(g, cmd, rest.ListFleetEvents, q)
			if err != nil {
				return err
			}
			return g.show(cmd, page, func(p *printer) {
				p.table("AT", "MACHINE", "SOURCE", "LEVEL", "ABOUT", "MESSAGE")
				for _, e := range page.Events {
					p.row(e.At.Local().Format(time.DateTime), e.Machine, e.Source, string(e.Level), e.Target, e.Message)
				}
			})
		},
	}
	cmd.Flags().StringVar(&q.Level, "level", "", "error, warn, info, debug or trace, and what is graver")
	cmd.Flags().StringVar(&q.Source, "source", "", "hub or machine")
	return jsonFlag(cmd, g)
}

func newMachinePolicy(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "policy", Short: "What is never done on machines, whatever else is allowed", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPolicyList(g), newPolicyAdd(g), newPolicyRemove(g), newPolicyTest(g))
	return cmd
}

func newPolicyList(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List the rules", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := ask(g, cmd, rest.ListRules, rest.None{})
			if err != nil {
				return err
			}
			return g.show(cmd, r, func(p *printer) {
				p.table("ID", "FOR", "CLASS", "REASON")
				for _, rule := range append(r.Operator, r.Builtin...) {
					p.row(rule.ID, string(rule.AppliesTo), firstOf(rule.Class, "own"), rule.Reason)
				}
			})
		},
	}
	return jsonFlag(cmd, g)
}

func newPolicyAdd(g *globals) *cobra.Command {
	var rule kenny.Rule
	var appliesTo string
	cmd := &cobra.Command{
		Use: "add ID", Short: "Add a rule, or replace yours of that id", Args: exactly(1, "name the rule"),
		Example: "  parley machine policy add op.no-choco --pattern '(?i)\\bchoco\\b' --reason 'we use winget'",
		RunE: func(cmd *cobra.Command, args []string) error {
			rule.ID, rule.AppliesTo = args[0], kenny.AppliesTo(appliesTo)
			_, err := ask(g, cmd, rest.AddRule, rule)
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&appliesTo, "for", "powershell", "powershell (scripts of both shells), path or self_protection")
	flags.StringVar(&rule.Pattern, "pattern", "", "regular expression (RE2)")
	flags.StringVar(&rule.Reason, "reason", "", "what whoever is refused reads")
	return cmd
}

func newPolicyRemove(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "remove ID", Short: "Remove a rule of yours", Args: exactly(1, "name the rule"),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, err := ask(g, cmd, rest.RemoveRule, rest.ByID{ID: args[0]})
			return err
		},
	}
}

func newPolicyTest(g *globals) *cobra.Command {
	var system string
	cmd := &cobra.Command{
		Use: "test TOOL [key=value …]", Short: "Would this call be refused?", Args: atLeast(1, "name the tool"),
		RunE: func(cmd *cobra.Command, args []string) error {
			call, _, err := callFlags{}.call(args[0], args[1:])
			if err != nil {
				return err
			}
			r, err := ask(g, cmd, rest.TestRule, rest.RuleTest{OS: kenny.OS(system), Tool: call.Tool, Args: call.Args})
			if err != nil {
				return err
			}
			return g.show(cmd, r, func(p *printer) {
				if r.Blocked {
					p.line(r.Message)
				} else {
					p.line("no rule refuses it")
				}
			})
		},
	}
	cmd.Flags().StringVar(&system, "os", "linux", "windows, linux or macos")
	return jsonFlag(cmd, g)
}

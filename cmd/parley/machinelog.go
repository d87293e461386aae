package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"parley/client/hubapi"
	"parley/protocol/kenny"
)

// callRow is a line of the call log.
type callRow struct {
	CallID   string    `json:"call_id"`
	At       time.Time `json:"at"`
	Machine  string    `json:"agent_id"`
	Tool     string    `json:"tool"`
	Actor    string    `json:"actor"`
	State    string    `json:"state"`
	Code     string    `json:"code,omitempty"`
	Message  string    `json:"message,omitempty"`
	Duration int64     `json:"duration_ms"`
}

func newMachineCalls(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "calls [ID]", Short: "The call log, newest first", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			query := url.Values{}
			if len(args) == 1 {
				query.Set("machine", args[0])
			}
			return g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error { return g.showCalls(ctx, cmd, c, query) })
		},
	}
	return jsonFlag(cmd, g)
}

func (g *globals) showCalls(ctx context.Context, cmd *cobra.Command, c *hubapi.Client, query url.Values) error {
	if g.json {
		v, err := get(ctx, c, "/api/fleet/calls", query)
		if err != nil {
			return err
		}
		return g.show(cmd, v, nil)
	}
	var page struct {
		Calls []callRow `json:"calls"`
	}
	if err := c.Do(ctx, http.MethodGet, "/api/fleet/calls", query, nil, &page); err != nil {
		return err
	}
	return g.show(cmd, page, func(p *printer) {
		p.table("AT", "CALL", "MACHINE", "TOOL", "WHO", "STATE", "MS", "WHY")
		for _, r := range page.Calls {
			p.row(r.At.Local().Format(time.DateTime), r.CallID, r.Machine, r.Tool, r.Actor, r.State, fmt.Sprint(r.Duration), r.Message)
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
			return g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				return g.showCalls(ctx, cmd, c, url.Values{"state": {"queued"}})
			})
		},
	}
	cancel := &cobra.Command{
		Use: "cancel CALL", Short: "Take one out", Args: exactly(1, "name the call"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				st, err := c.CancelCall(ctx, args[0])
				if err != nil {
					return callFailed(err)
				}
				return g.show(cmd, st, func(p *printer) { p.line(st.State) })
			})
		},
	}
	cmd.AddCommand(jsonFlag(list, g), jsonFlag(cancel, g))
	return cmd
}

func newMachineEvents(g *globals) *cobra.Command {
	var level, source string
	cmd := &cobra.Command{
		Use: "events [ID]", Short: "What happened around machines, and their logs, newest first", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			query := url.Values{}
			if len(args) == 1 {
				query.Set("machine", args[0])
			}
			for name, v := range map[string]string{"level": level, "source": source} {
				if v != "" {
					query.Set(name, v)
				}
			}
			return g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				var page struct {
					Events []struct {
						At      time.Time `json:"at"`
						Machine string    `json:"agent_id"`
						Source  string    `json:"source"`
						Level   string    `json:"level"`
						Target  string    `json:"target"`
						Message string    `json:"message"`
						Fields  any       `json:"fields,omitempty"`
					} `json:"events"`
				}
				if err := c.Do(ctx, http.MethodGet, "/api/fleet/events", query, nil, &page); err != nil {
					return err
				}
				return g.show(cmd, page, func(p *printer) {
					p.table("AT", "MACHINE", "SOURCE", "LEVEL", "ABOUT", "MESSAGE")
					for _, e := range page.Events {
						p.row(e.At.Local().Format(time.DateTime), e.Machine, e.Source, e.Level, e.Target, e.Message)
					}
				})
			})
		},
	}
	cmd.Flags().StringVar(&level, "level", "", "error, warn, info, debug or trace, and what is graver")
	cmd.Flags().StringVar(&source, "source", "", "hub or machine")
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

// ruleRow is a rule as the hub shows it.
type ruleRow struct {
	ID        string `json:"id"`
	AppliesTo string `json:"applies_to"`
	Class     string `json:"class,omitempty"`
	Pattern   string `json:"pattern"`
	Reason    string `json:"reason"`
}

func newPolicyList(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List the rules", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				var r struct {
					Builtin  []ruleRow `json:"builtin"`
					Operator []ruleRow `json:"operator"`
					Revision int64     `json:"revision"`
				}
				if err := c.Do(ctx, http.MethodGet, "/api/fleet/policy/rules", nil, nil, &r); err != nil {
					return err
				}
				return g.show(cmd, r, func(p *printer) {
					p.table("ID", "FOR", "CLASS", "REASON")
					for _, rule := range append(r.Operator, r.Builtin...) {
						p.row(rule.ID, rule.AppliesTo, firstOf(rule.Class, "own"), rule.Reason)
					}
				})
			})
		},
	}
	return jsonFlag(cmd, g)
}

func newPolicyAdd(g *globals) *cobra.Command {
	var rule ruleRow
	cmd := &cobra.Command{
		Use: "add ID", Short: "Add a rule, or replace yours of that id", Args: exactly(1, "name the rule"),
		Example: "  parley machine policy add op.no-choco --pattern '(?i)\\bchoco\\b' --reason 'we use winget'",
		RunE: func(cmd *cobra.Command, args []string) error {
			rule.ID = args[0]
			return g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				body := kenny.Rule{ID: rule.ID, AppliesTo: kenny.AppliesTo(rule.AppliesTo), Pattern: rule.Pattern, Reason: rule.Reason}
				return c.Do(ctx, http.MethodPost, "/api/fleet/policy/rules", nil, body, nil)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&rule.AppliesTo, "for", "powershell", "powershell (scripts of both shells), path or self_protection")
	flags.StringVar(&rule.Pattern, "pattern", "", "regular expression (RE2)")
	flags.StringVar(&rule.Reason, "reason", "", "what whoever is refused reads")
	return cmd
}

func newPolicyRemove(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "remove ID", Short: "Remove a rule of yours", Args: exactly(1, "name the rule"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				return c.Do(ctx, http.MethodDelete, "/api/fleet/policy/rules/"+url.PathEscape(args[0]), nil, nil, nil)
			})
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
			return g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				var r struct {
					Blocked bool     `json:"blocked"`
					Message string   `json:"message,omitempty"`
					Rule    *ruleRow `json:"rule,omitempty"`
				}
				body := map[string]any{"os": system, "tool": call.Tool, "args": call.Args}
				if err := c.Do(ctx, http.MethodPost, "/api/fleet/policy/test", nil, body, &r); err != nil {
					return err
				}
				return g.show(cmd, r, func(p *printer) {
					if r.Blocked {
						p.line(r.Message)
					} else {
						p.line("no rule refuses it")
					}
				})
			})
		},
	}
	cmd.Flags().StringVar(&system, "os", "linux", "windows, linux or macos")
	return jsonFlag(cmd, g)
}

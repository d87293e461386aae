package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley.internal/client/hubapi"
	"parley.internal/internal/visible"
	"parley.internal/protocol/rest"
)

func newMachine(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "machine", Short: "Managed computers: add, look at, use, update", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newMachineToken(g), newMachineLink(g), newMachineList(g), newMachineShow(g), newMachineRemove(g), newMachineCall(g), newMachineCollect(g),
		newMachineScreenshot(g), newMachineCalls(g), newMachineEvents(g), newMachineQueue(g), newMachineUpdate(g), newMachinePolicy(g))
	return cmd
}

func newMachineToken(g *globals) *cobra.Command {
	var req rest.Enrolment
	var ttl, grace time.Duration
	cmd := &cobra.Command{
		Use: "token ID", Short: "A one-time token that enrols a machine", Args: exactly(1, "name the machine"),
		Example: "  parley machine token studio-3\n  parley machine token studio-3 --rekey --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			req.TTLS = int64(ttl.Seconds())
			if cmd.Flags().Changed("grace") {
				s := int64(grace.Seconds())
				req.GraceS = &s
			}
			t, err := ask(g, cmd, rest.MachineToken, rest.EnrolRequest{ID: args[0], Body: req})
			if err != nil {
				return err
			}
			return g.show(cmd, t, func(p *printer) {
				p.line(t.Token)
				p.note("for %s, once, until %s; on that machine:", t.Machine, t.Expires.Local().Format(time.DateTime))
				p.note("  PARLEY_ENROLL_TOKEN=… parley endpoint install --url %s --id %s --server-key %s", t.URL, t.Machine, t.ServerPublicKey)
			})
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&req.Rekey, "rekey", false, "let an enrolled machine take a new key")
	flags.DurationVar(&grace, "grace", 0, "how long the old key stays good until the new one is used (default 168h)")
	flags.DurationVar(&ttl, "ttl", 0, "how long the token is good (default 24h, at most 720h)")
	flags.BoolVar(&req.Legacy, "legacy", false, "a bearer for an endpoint without keys; the hub must allow them")
	return jsonFlag(cmd, g)
}

func newMachineLink(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "link ID", Short: "One-liners that install the endpoint on a machine, new or known, once", Args: exactly(1, "name the machine"),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := ask(g, cmd, rest.InstallLink, rest.ByID{ID: args[0]})
			if err != nil {
				return err
			}
			return g.show(cmd, l, func(p *printer) {
				if l.Sh != "" {
					p.note("Linux and macOS:")
					p.line(l.Sh)
				}
				if l.PS1 != "" {
					p.note("Windows, in an administrator's PowerShell:")
					p.line(l.PS1)
				}
				p.note("until %s", l.Expires.Local().Format(time.DateTime))
			})
		},
	}
	return jsonFlag(cmd, g)
}

func newMachineList(g *globals) *cobra.Command {
	var q rest.MachineQuery
	cmd := &cobra.Command{
		Use: "list", Short: "List machines", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				list, err := hubapi.Machines(ctx, c, q)
				if err != nil {
					return err
				}
				return g.show(cmd, list, func(p *printer) {
					p.table("ID", "PRESENCE", "HEALTH", "SWITCH", "SYSTEM", "VERSION", "TAGS", "SUMMARY")
					for _, m := range list {
						p.row(m.ID, string(m.Presence), string(m.Overall), orDash(string(m.Control)), orDash(string(m.Meta.OS)), orDash(m.Meta.Version), orDash(strings.Join(m.Tags, " ")), m.Summary)
					}
					if len(list) == 0 {
						p.note("no machines; 'parley machine link ID' gives a line that adds one")
					}
				})
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&q.Q, "query", "q", "", "part of the id, name or hostname")
	flags.StringVar(&q.Tag, "tag", "", "with this tag")
	flags.StringVar(&q.Presence, "presence", "", "online, off, reconnecting or overdue")
	flags.StringVar(&q.Overall, "overall", "", "ok, warn, crit or unknown")
	return jsonFlag(cmd, g)
}

func newMachineShow(g *globals) *cobra.Command {
	var section string
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show how a machine is, or one section of its telemetry", Args: exactly(1, "name the machine"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				if section != "" {
					v, err := hubapi.Call(ctx, c, rest.MachineSnapshot, rest.SnapshotQuery{ID: args[0], Section: section})
					if err != nil {
						return err
					}
					return g.show(cmd, v, func(p *printer) { p.line(indented(v)) })
				}
				m, err := hubapi.Call(ctx, c, rest.GetMachine, rest.ByID{ID: args[0]})
				if err != nil {
					return err
				}
				h, err := hubapi.Call(ctx, c, rest.MachineHealth, rest.ByID{ID: args[0]})
				if err != nil {
					return err
				}
				return g.show(cmd, map[string]any{"machine": m, "health": h}, func(p *printer) {
					p.note("%s (%s, %s %s): %s, remote control %s, %s", m.ID, visible.Line(m.Hostname), m.Meta.OS, m.Meta.Version, m.Presence, firstOf(string(m.Control), "unknown"), visible.Line(m.Summary))
					p.table("SECTION", "STATUS", "SUMMARY")
					for _, name := range slices.Sorted(maps.Keys(h.Sections)) {
						s := h.Sections[name]
						p.row(name, string(s.Status), firstOf(s.Reason, s.Summary))
					}
				})
			})
		},
	}
	cmd.Flags().StringVar(&section, "section", "", "the newest telemetry of one section")
	return jsonFlag(cmd, g)
}

// indented is JSON for people, with the keys of every object in order.
func indented(value any) string {
	text, err := json.Marshal(value)
	var v any
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err == nil {
		text, err = json.MarshalIndent(v, "", "  ")
	}
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

func newMachineRemove(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "remove ID", Short: "Take a machine out: its key is revoked, its connection ends", Args: exactly(1, "name the machine"),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, err := ask(g, cmd, rest.RemoveMachine, rest.ByID{ID: args[0]})
			return err
		},
	}
}

func newMachineScreenshot(g *globals) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "screenshot ID -o FILE", Short: "Take a picture of a machine's screen", Args: exactly(1, "name the machine"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if file == "" {
				return usageError("say where to put it: -o FILE")
			}
			return g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				shot, err := hubapi.Call(ctx, c.Patient(), rest.TakeScreenshot, rest.ByID{ID: args[0]})
				if err != nil {
					return callFailed(err)
				}
				picture := rest.PictureName{ID: args[0], File: fmt.Sprintf("%d.png", shot.N)}
				return toFile(file, cmd.OutOrStdout(), func(w io.Writer) error { return hubapi.Copy(ctx, c, w, rest.ScreenshotImage, picture) })
			})
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "the file to write")
	return cmd
}

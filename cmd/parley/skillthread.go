package main

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"parley.internal/client/hubapi"
	"parley.internal/protocol/rest"
)

func newSkillExtensions(g *globals) *cobra.Command {
	var on, off string
	cmd := &cobra.Command{
		Use: "extensions", Short: "Extensions of the protocol: proposed, promoted, switched off", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				for hash, enabled := range map[string]bool{on: true, off: false} {
					if hash == "" {
						continue
					}
					if _, err := hubapi.Call(ctx, c, rest.SwitchExtension, rest.ExtensionSwitch{Hash: hash, Body: rest.Enabled{Enabled: enabled}}); err != nil {
						return err
					}
				}
				return g.listExtensions(ctx, cmd, c)
			})
		},
	}
	cmd.Flags().StringVar(&on, "on", "", "switch the promoted extension with this hash on again")
	cmd.Flags().StringVar(&off, "off", "", "switch the promoted extension with this hash off")
	return jsonFlag(cmd, g)
}

func (g *globals) listExtensions(ctx context.Context, cmd *cobra.Command, c *hubapi.Client) error {
	out, err := hubapi.Call(ctx, c, rest.ListExtensions, rest.None{})
	if err != nil {
		return err
	}
	return g.show(cmd, out.Extensions, func(p *printer) {
		p.table("NAME", "VERSION", "STATE", "FROM", "ACTIONS", "REASON", "HASH")
		for _, e := range out.Extensions {
			p.row(e.Name, e.Version, e.State, e.Sender, strings.Join(e.Actions, " "), short(e.Reason, 60), e.Hash)
		}
	})
}

func newSkillThreads(g *globals) *cobra.Command {
	return jsonFlag(&cobra.Command{
		Use: "threads", Short: "Discussions and negotiations with other agents, the latest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out, err := ask(g, cmd, rest.ListThreads, rest.SkillLimit{})
			if err != nil {
				return err
			}
			return g.show(cmd, out.Threads, func(p *printer) {
				p.table("ID", "KIND", "WITH", "STATE", "WAITS FOR YOU", "ACTIVE")
				for _, t := range out.Threads {
					p.row(t.ID, t.Kind, t.Peer, t.State, t.Approval, ago(t.Active))
				}
			})
		},
	}, g)
}

func newSkillSay(g *globals) *cobra.Command {
	var to rest.ToPeer
	var in string
	cmd := &cobra.Command{
		Use: "say ACTION AGENT [JSON]", Short: "Open a discussion (propose) or negotiation (offer), or answer in one", Args: cobra.RangeArgs(2, 3),
		Long: `Makes a move in a discussion or a negotiation.

  parley skill say propose BOB '{"title":"Tea?","text":"At four."}'
  parley skill say support BOB '{"reason":"thirsty"}' --in THREAD      also oppose, synthesize
  parley skill say offer BOB '{"terms":{"cups":2}}'
  parley skill say counter BOB '{"terms":{"cups":3}}' --in THREAD      also withdraw
  parley skill say agree BOB --in THREAD                               asks you in the inbox first`,
		RunE: func(cmd *cobra.Command, args []string) error {
			payload := map[string]any{}
			if len(args) == 3 {
				if err := json.Unmarshal([]byte(args[2]), &payload); err != nil {
					return &exitError{exitFailed, "what is said must be a JSON object: " + err.Error()}
				}
			}
			to.To = args[1]
			t, err := ask(g, cmd, rest.SayInThread, rest.ThreadMove{ToPeer: to, Action: args[0], Thread: in, Payload: payload})
			if err != nil {
				return err
			}
			return g.show(cmd, t, func(p *printer) { p.line(t.State + " " + t.ID) })
		},
	}
	speakerFlags(cmd, &to)
	cmd.Flags().StringVar(&in, "in", "", "id of the thread")
	return jsonFlag(cmd, g)
}

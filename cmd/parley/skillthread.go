package main

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley/client/hubapi"
)

// extension is one of the protocol's extensions as commands print it.
type extension struct {
	Agent    string   `json:"agent,omitempty"`
	Name     string   `json:"name"`
	Version  string   `json:"version"`
	State    string   `json:"state"`
	Sender   string   `json:"sender,omitempty"`
	Hash     string   `json:"hash"`
	Actions  []string `json:"actions"`
	Reason   string   `json:"reason,omitempty"`
	Approval string   `json:"approval_id,omitempty"`
}

func newSkillExtensions(g *globals) *cobra.Command {
	var on, off string
	cmd := &cobra.Command{
		Use: "extensions", Short: "Extensions of the protocol: proposed, promoted, switched off", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.onHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				for hash, enabled := range map[string]bool{on: true, off: false} {
					if hash == "" {
						continue
					}
					if err := c.Do(ctx, "POST", "/api/skills/extensions/"+url.PathEscape(hash), nil, map[string]bool{"enabled": enabled}, nil); err != nil {
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
	var out struct {
		Extensions []extension `json:"extensions"`
	}
	if err := c.Do(ctx, "GET", "/api/skills/extensions", nil, nil, &out); err != nil {
		return err
	}
	return g.show(cmd, out.Extensions, func(p *printer) {
		p.table("NAME", "VERSION", "STATE", "FROM", "ACTIONS", "REASON", "HASH")
		for _, e := range out.Extensions {
			p.row(e.Name, e.Version, e.State, e.Sender, strings.Join(e.Actions, " "), short(e.Reason, 60), e.Hash)
		}
	})
}

// thread is a discussion or negotiation as commands print it.
type thread struct {
	ID       string          `json:"id"`
	Agent    string          `json:"agent"`
	Kind     string          `json:"kind"`
	Peer     string          `json:"peer"`
	Place    string          `json:"place,omitempty"`
	State    string          `json:"state"`
	Approval string          `json:"approval_id,omitempty"`
	Body     json.RawMessage `json:"body"`
	Active   time.Time       `json:"active_at"`
}

func newSkillThreads(g *globals) *cobra.Command {
	return jsonFlag(&cobra.Command{
		Use: "threads", Short: "Discussions and negotiations with other agents, the latest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.onHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				var out struct {
					Threads []thread `json:"threads"`
				}
				if err := c.Do(ctx, "GET", "/api/skills/threads", nil, nil, &out); err != nil {
					return err
				}
				return g.show(cmd, out.Threads, func(p *printer) {
					p.table("ID", "KIND", "WITH", "STATE", "WAITS FOR YOU", "ACTIVE")
					for _, t := range out.Threads {
						p.row(t.ID, t.Kind, t.Peer, t.State, t.Approval, ago(t.Active))
					}
				})
			})
		},
	}, g)
}

func newSkillSay(g *globals) *cobra.Command {
	var to toAgent
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
			return g.onHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				var t thread
				err := c.Do(ctx, "POST", "/api/skills/threads", nil, map[string]any{
					"action": args[0], "to": args[1], "agent": to.agent, "place": to.place, "thread": in, "payload": payload,
				}, &t)
				if err != nil {
					return err
				}
				return g.show(cmd, t, func(p *printer) { p.line(t.State + " " + t.ID) })
			})
		},
	}
	to.flags(cmd)
	cmd.Flags().StringVar(&in, "in", "", "id of the thread")
	return jsonFlag(cmd, g)
}

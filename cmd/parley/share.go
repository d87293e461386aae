package main

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"parley/client/hubapi"
)

// memoryShare is memory that is shared on purpose.
type memoryShare struct {
	ID       string    `json:"id,omitempty"`
	Agent    string    `json:"agent"`
	Sender   string    `json:"sender,omitempty"`
	Archive  string    `json:"archive_id,omitempty"`
	ToAgent  string    `json:"to_agent"`
	ToSender string    `json:"to_sender,omitempty"`
	By       string    `json:"by,omitempty"`
	Created  time.Time `json:"created_at,omitzero"`
	Expires  time.Time `json:"expires_at,omitzero"`
}

func newConversationShare(g *globals, which *address) *cobra.Command {
	var s memoryShare
	var lasts time.Duration
	cmd := &cobra.Command{
		Use: "share AGENT --with AGENT", Short: "Let another agent recall an agent's archives", Args: exactly(1, "name the agent whose archives are shared"),
		Long: `Lets an agent recall the archives of another agent's conversations with you, or, with
--for, when it talks with somebody else. What it recalls is cited with its origin. It ends
by itself, with 'unshare', or when you lose the right to it.`,
		Example: "  parley conversation share parley --with reviewer\n  parley conversation share parley --with parley --for bob --archive ID --lasts 24h",
		RunE: func(cmd *cobra.Command, args []string) error {
			if s.ToAgent == "" {
				return usageError("say with whom: --with AGENT")
			}
			s.Agent, s.Sender, s.Expires = args[0], which.sender, time.Now().Add(lasts).UTC().Truncate(time.Second)
			return g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				var out memoryShare
				if err := c.Do(ctx, http.MethodPost, "/api/memory/shares", nil, s, &out); err != nil {
					return err
				}
				return g.show(cmd, out, func(p *printer) { p.shares(out) })
			})
		},
	}
	cmd.Flags().StringVar(&s.ToAgent, "with", "", "the agent that may recall them")
	cmd.Flags().StringVar(&s.ToSender, "for", "", "when it talks with this sender (default: the same)")
	cmd.Flags().StringVar(&s.Archive, "archive", "", "only this archive (default: all, also later ones)")
	cmd.Flags().DurationVar(&lasts, "lasts", 30*24*time.Hour, "how long, at most a year")
	return jsonFlag(cmd, g)
}

func (p *printer) shares(list ...memoryShare) {
	p.table("ID", "AGENT", "SENDER", "ARCHIVE", "WITH", "FOR", "UNTIL")
	for _, s := range list {
		p.row(s.ID, s.Agent, s.Sender, orText(s.Archive, "all"), s.ToAgent, s.ToSender, s.Expires.Local().Format("2006-01-02 15:04"))
	}
}

func newConversationShares(g *globals) *cobra.Command {
	return jsonFlag(&cobra.Command{
		Use: "shares", Short: "What you share of agents' memory, and what is shared with you", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				var out struct {
					Shares []memoryShare `json:"shares"`
				}
				if err := c.Do(ctx, http.MethodGet, "/api/memory/shares", nil, nil, &out); err != nil {
					return err
				}
				return g.show(cmd, out.Shares, func(p *printer) { p.shares(out.Shares...) })
			})
		},
	}, g)
}

func newConversationUnshare(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "unshare ID", Short: "Take back what was shared, at once", Args: exactly(1, "name one; see 'parley conversation shares'"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				return c.Do(ctx, http.MethodDelete, "/api/memory/shares/"+url.PathEscape(args[0]), nil, nil, nil)
			})
		},
	}
}

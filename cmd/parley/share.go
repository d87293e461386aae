package main

import (
	"time"

	"github.com/spf13/cobra"

	"parley.internal/protocol/rest"
)

func newConversationShare(g *globals, which *address) *cobra.Command {
	var s rest.ShareRequest
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
			out, err := ask(g, cmd, rest.ShareMemory, s)
			if err != nil {
				return err
			}
			return g.show(cmd, out, func(p *printer) { p.shares(out) })
		},
	}
	cmd.Flags().StringVar(&s.ToAgent, "with", "", "the agent that may recall them")
	cmd.Flags().StringVar(&s.ToSender, "for", "", "when it talks with this sender (default: the same)")
	cmd.Flags().StringVar(&s.Archive, "archive", "", "only this archive (default: all, also later ones)")
	cmd.Flags().DurationVar(&lasts, "lasts", 30*24*time.Hour, "how long, at most a year")
	return jsonFlag(cmd, g)
}

func (p *printer) shares(list ...rest.Share) {
	p.table("ID", "AGENT", "SENDER", "ARCHIVE", "WITH", "FOR", "UNTIL")
	for _, s := range list {
		p.row(s.ID, s.Agent, s.Sender, orText(s.Archive, "all"), s.ToAgent, s.ToSender, s.Expires.Local().Format("2006-01-02 15:04"))
	}
}

func newConversationShares(g *globals) *cobra.Command {
	return jsonFlag(&cobra.Command{
		Use: "shares", Short: "What you share of agents' memory, and what is shared with you", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out, err := ask(g, cmd, rest.ListShares, rest.None{})
			if err != nil {
				return err
			}
			return g.show(cmd, out.Shares, func(p *printer) { p.shares(out.Shares...) })
		},
	}, g)
}

func newConversationUnshare(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "unshare ID", Short: "Take back what was shared, at once", Args: exactly(1, "name one; see 'parley conversation shares'"),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, err := ask(g, cmd, rest.UnshareMemory, rest.ByID{ID: args[0]})
			return err
		},
	}
}

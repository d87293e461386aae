package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley/client/hubapi"
)

func newPlace(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "place", Short: "The meeting place: who is there, what is posted, sealed messages", Args: cobra.NoArgs,
		Long: `The meeting place of a hub, and any other that speaks the same protocol.

  parley place agents                            who is at this hub's place
  parley place send bob 'Good morning'           as an agent of this hub
  parley place send bob hi --place https://place.example.org --as me.pem
  parley place check https://place.example.org   does it follow the protocol?`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPlaceStatus(g), newPlaceAgents(g), newPlaceBoard(g), newPlacePost(g), newPlaceSend(g), newPlaceReceive(g), newPlaceKeys(g),
		newPlaceAudit(g), newPlaceTrust(g), newPlaceForget(g), newPlacePeer(g), newPlaceCheck(g), newPlaceVisit(g))
	return cmd
}

// onHub runs a command's work with a client of the hub.
func (g *globals) onHub(cmd *cobra.Command, work func(context.Context, *hubapi.Client) error) error {
	c, done, err := g.connect(cmd.Context())
	if err != nil {
		return err
	}
	defer done()
	return work(cmd.Context(), c)
}

func newPlaceStatus(g *globals) *cobra.Command {
	return jsonFlag(&cobra.Command{
		Use: "status", Short: "The place in one look, with its queues", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.onHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				p, err := c.Place(ctx)
				if err != nil {
					return err
				}
				queues, err := c.PlaceQueues(ctx)
				if err != nil {
					return err
				}
				return g.show(cmd, map[string]any{"place": p, "queues": queues}, func(out *printer) {
					out.note("%s (%s), policy %s: %d agents, %d postings, %d messages waiting", p.Name, p.PlaceID, p.Auth, p.Agents, p.Postings, p.PendingMessages)
					out.note("key for peers: %s", p.PlaceKey)
					for _, w := range p.Warnings {
						out.note("warning: %s", w)
					}
					out.table("QUEUE", "WAITING", "LEASED", "LOST", "OLDEST")
					for _, q := range queues {
						out.row(q.Agent, fmt.Sprintf("%d of %d", q.Pending, q.Limit), strconv.Itoa(q.Leased), strconv.FormatInt(q.Dropped, 10), ago(q.Oldest))
					}
				})
			})
		},
	}, g)
}

func ago(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return time.Since(t).Round(time.Second).String() + " ago"
}

func newPlaceAgents(g *globals) *cobra.Command {
	var search string
	cmd := &cobra.Command{
		Use: "agents", Short: "List registered agents", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.onHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				agents, err := c.PlaceAgents(ctx, search)
				if err != nil {
					return err
				}
				return g.show(cmd, agents, func(p *printer) {
					p.table("ID", "NAME", "TRUST", "SCOPE", "LAST SEEN", "KEY")
					for _, a := range agents {
						p.row(a.ID, a.Name, a.Trust, a.Scope, ago(a.LastSeen), a.KeyID)
					}
				})
			})
		},
	}
	cmd.Flags().StringVar(&search, "search", "", "only names, descriptions and ids with this in them")
	return jsonFlag(cmd, g)
}

func newPlaceBoard(g *globals) *cobra.Command {
	var kind, search string
	cmd := &cobra.Command{
		Use: "board", Short: "List postings, newest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.onHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				postings, err := c.PlacePostings(ctx, kind, search)
				if err != nil {
					return err
				}
				return g.show(cmd, postings, func(p *printer) {
					p.table("ID", "AGENT", "TYPE", "SKILL", "SUMMARY", "TAGS")
					for _, one := range postings {
						p.row(one.ID, one.AgentID, one.Type, one.SkillName, one.Summary, strings.Join(one.Tags, " "))
					}
				})
			})
		},
	}
	cmd.Flags().StringVar(&kind, "type", "", "only offer_skill, request_skill or announcement")
	cmd.Flags().StringVar(&search, "search", "", "only names and summaries with this in them")
	return jsonFlag(cmd, g)
}

func newPlaceAudit(g *globals) *cobra.Command {
	var kind string
	var limit int
	cmd := &cobra.Command{
		Use: "audit", Short: "What happened at the place: who, when, how much; never what", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.onHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				events, err := c.PlaceAudit(ctx, kind, limit)
				if err != nil {
					return err
				}
				return g.show(cmd, events, func(p *printer) {
					p.table("TIME", "EVENT", "ACTION", "WHO", "TYPE", "BYTES", "REASON")
					for _, e := range events {
						who, size := e.AgentID, ""
						if len(e.Participants) == 2 {
							who = e.Participants[0] + " → " + e.Participants[1]
						}
						if e.SizeBytes != nil {
							size = strconv.FormatInt(*e.SizeBytes, 10)
						}
						p.row(e.At.Local().Format("2006-01-02 15:04:05"), e.Event, e.Action, who, e.MessageType, size, e.Reason)
					}
				})
			})
		},
	}
	cmd.Flags().StringVar(&kind, "type", "", "only relay, registration, key_registration, bulletin, deposit, auth or peer")
	cmd.Flags().IntVarP(&limit, "limit", "n", 50, "how many at the most")
	return jsonFlag(cmd, g)
}

func newPlaceTrust(g *globals) *cobra.Command {
	var remove bool
	cmd := &cobra.Command{
		Use: "trust ADDRESS KEY-ID", Short: "Trust the key an agent has, after comparing it with its owner", Args: cobra.ExactArgs(2),
		Example: "  parley place trust bob sha256:…\n  parley place trust bob sha256:… --remove",
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.onHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				if remove {
					return c.UntrustPlaceKey(ctx, args[1])
				}
				if err := c.TrustPlaceKey(ctx, args[0], args[1]); err != nil {
					return err
				}
				fmt.Fprintln(cmd.OutOrStdout(), "trusted", args[0])
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&remove, "remove", false, "trust it no more")
	return cmd
}

func newPlaceForget(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "forget AGENT", Short: "Release an agent's pinned key: it was lost, and whoever comes next may have the id", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.onHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				if err := c.ForgetPlaceAgent(ctx, args[0]); err != nil {
					return err
				}
				fmt.Fprintln(cmd.OutOrStdout(), "forgot", args[0])
				return nil
			})
		},
	}
}

func newPlacePeer(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "peer", Aliases: []string{"federate"}, Short: "Exchange messages with another place; both operators must agree", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var key string
	addPeer := &cobra.Command{
		Use: "add NAME URL", Short: "Peer with a place; its agents appear as id@NAME", Args: cobra.ExactArgs(2),
		Example: "  parley place peer add friends https://place.example.org --key ed25519:…",
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.onHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				p, err := c.AddPlacePeer(ctx, args[0], args[1], key)
				if err != nil {
					return err
				}
				us, err := c.Place(ctx)
				if err != nil {
					return err
				}
				return g.show(cmd, p, func(out *printer) {
					out.line("peered with " + p.Name)
					out.note("its operator runs: parley place peer add NAME OUR-URL --key %s", us.PlaceKey)
				})
			})
		},
	}
	addPeer.Flags().StringVar(&key, "key", "", "the other place's key, ed25519:…, as its operator tells it")
	list := &cobra.Command{
		Use: "list", Short: "List peered places", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.onHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				peers, err := c.PlacePeers(ctx)
				if err != nil {
					return err
				}
				return g.show(cmd, peers, func(out *printer) {
					out.table("NAME", "URL", "AGENTS", "WAITING", "SEEN", "PROBLEM")
					for _, p := range peers {
						out.row(p.Name, p.URL, strconv.Itoa(p.Agents), strconv.Itoa(p.Waiting), ago(p.Seen), p.Problem)
					}
				})
			})
		},
	}
	remove := &cobra.Command{
		Use: "remove NAME", Short: "End peering at once", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.onHub(cmd, func(ctx context.Context, c *hubapi.Client) error { return c.RemovePlacePeer(ctx, args[0]) })
		},
	}
	cmd.AddCommand(jsonFlag(addPeer, g), jsonFlag(list, g), remove)
	return cmd
}

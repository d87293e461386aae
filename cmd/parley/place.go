package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley.internal/client/hubapi"
	"parley.internal/protocol/rest"
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
		newPlaceAudit(g), newPlaceTrust(g), newPlaceForget(g), newPlacePeer(g), newPlaceCheck(g), newPlaceVisit(g), newPlaceMeet(g), newPlaceDeposits(g))
	return cmd
}

func newPlaceStatus(g *globals) *cobra.Command {
	return jsonFlag(&cobra.Command{
		Use: "status", Short: "The place in one look, with its queues", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				p, err := hubapi.Call(ctx, c, rest.GetPlace, rest.None{})
				if err != nil {
					return err
				}
				waiting, err := hubapi.Call(ctx, c, rest.ListPlaceQueues, rest.PlaceLimit{})
				if err != nil {
					return err
				}
				return g.show(cmd, map[string]any{"place": p, "queues": waiting.Queues}, func(out *printer) {
					out.note("%s (%s), policy %s: %d agents, %d postings, %d messages waiting", p.Name, p.PlaceID, p.Auth, p.Agents, p.Postings, p.PendingMessages)
					out.note("key for peers: %s", p.PlaceKey)
					for _, w := range p.Warnings {
						out.note("warning: %s", w)
					}
					out.table("QUEUE", "WAITING", "LEASED", "LOST", "OLDEST")
					for _, q := range waiting.Queues {
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
			return g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				list, err := hubapi.Call(ctx, c, rest.ListPlaceAgents, rest.PlaceAgentQuery{Search: search})
				if err != nil {
					return err
				}
				return g.show(cmd, list.Agents, func(p *printer) {
					p.table("ID", "NAME", "TRUST", "SCOPE", "LAST SEEN", "KEY")
					for _, a := range list.Agents {
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
			return g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				list, err := hubapi.Call(ctx, c, rest.ListPostings, rest.PostingQuery{Type: kind, Search: search})
				if err != nil {
					return err
				}
				return g.show(cmd, list.Postings, func(p *printer) {
					p.table("ID", "AGENT", "TYPE", "SKILL", "SUMMARY", "TAGS")
					for _, one := range list.Postings {
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
			return g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				list, err := hubapi.Call(ctx, c, rest.PlaceAudit, rest.PlaceAuditQuery{Type: kind, Limit: limit})
				if err != nil {
					return err
				}
				return g.show(cmd, list.Events, func(p *printer) {
					p.table("TIME", "EVENT", "ACTION", "WHO", "TYPE", "BYTES", "REASON")
					for _, e := range list.Events {
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
			if remove {
				_, err := ask(g, cmd, rest.UntrustKey, rest.PlaceKeyID{Key: args[1]})
				return err
			}
			if _, err := ask(g, cmd, rest.TrustKey, rest.TrustRequest{Address: args[0], KeyID: args[1]}); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), "trusted", args[0])
			return nil
		},
	}
	cmd.Flags().BoolVar(&remove, "remove", false, "trust it no more")
	return cmd
}

func newPlaceForget(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "forget AGENT", Short: "Release an agent's pinned key: it was lost, and whoever comes next may have the id", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := ask(g, cmd, rest.ForgetPlaceKey, rest.PlaceID{ID: args[0]}); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), "forgot", args[0])
			return nil
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
			return g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				p, err := hubapi.Call(ctx, c, rest.AddPeer, rest.PeerRequest{Name: args[0], URL: args[1], Key: key})
				if err != nil {
					return err
				}
				us, err := hubapi.Call(ctx, c, rest.GetPlace, rest.None{})
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
			return g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				found, err := hubapi.Call(ctx, c, rest.ListPeers, rest.None{})
				if err != nil {
					return err
				}
				return g.show(cmd, found.Peers, func(out *printer) {
					out.table("NAME", "URL", "AGENTS", "WAITING", "SEEN", "PROBLEM")
					for _, p := range found.Peers {
						out.row(p.Name, p.URL, strconv.Itoa(p.Agents), strconv.Itoa(p.Waiting), ago(p.Seen), p.Problem)
					}
				})
			})
		},
	}
	remove := &cobra.Command{
		Use: "remove NAME", Short: "End peering at once", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, err := ask(g, cmd, rest.RemovePeer, rest.PeerName{Name: args[0]})
			return err
		},
	}
	cmd.AddCommand(jsonFlag(addPeer, g), jsonFlag(list, g), remove)
	return cmd
}

func newPlaceVisit(g *globals) *cobra.Command {
	var length time.Duration
	var keep, insecure, deposit bool
	var end string
	cmd := &cobra.Command{
		Use: "visit [AGENT URL]", Short: "Send an agent of this hub to another place for a while; alone, list the visits", Args: cobra.MaximumNArgs(2),
		Long: `Sends an agent of this hub to another meeting place. It leaves by itself, with a
goodbye, when the time is over or 50 messages went in and out.

  parley place visit parley https://place.example.org --for 2h    prints the id of that place
  parley place visit                                              who is where, and for how long
  parley place visit --end ID                                     come home`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				switch {
				case end != "":
					_, err := hubapi.Call(ctx, c, rest.EndVisit, rest.ByID{ID: end})
					return err
				case len(args) == 0:
					return g.listVisits(ctx, cmd, c)
				case len(args) == 1:
					return &exitError{exitFailed, "name the agent and the address of the place"}
				}
				v, err := hubapi.Call(ctx, c, rest.StartVisit, rest.VisitRequest{Agent: args[0], URL: args[1], Minutes: int(length.Minutes()), Keep: keep, Deposit: deposit, Insecure: insecure})
				if err != nil {
					return err
				}
				return g.show(cmd, v, func(p *printer) {
					p.line(v.Place)
					p.note("%s is %s at %s until %s", args[0], v.AgentID, v.Name, v.Until.Local().Format("15:04"))
				})
			})
		},
	}
	cmd.Flags().DurationVar(&length, "for", time.Hour, "how long it stays")
	cmd.Flags().BoolVar(&keep, "keep", false, "stay registered there at the end")
	cmd.Flags().BoolVar(&deposit, "deposit", false, "leave the agent's public skills on the shelf there, fresh, until it comes home")
	cmd.Flags().BoolVar(&insecure, "insecure", false, "allow plain http to another machine")
	cmd.Flags().StringVar(&end, "end", "", "end the visit with this id")
	return jsonFlag(cmd, g)
}

func newPlaceMeet(g *globals) *cobra.Command {
	in := rest.VisitRequest{}
	var length time.Duration
	cmd := &cobra.Command{
		Use: "meet URL", Short: "Open a conversation of an agent of this hub with an agent at its own address", Args: cobra.ExactArgs(1),
		Long: `Calls an agent at its address, without a place between: both introduce themselves, and
what the other one says of itself is printed. It is a stranger's word.

  parley place meet https://agent.example.org          prints the place and the peer to use below
  parley skill offer tea PEER --place PLACE            also request, introduce, say, propose
  parley place visit --end ID                          say goodbye`,
		RunE: func(cmd *cobra.Command, args []string) error {
			in.URL, in.Minutes = args[0], int(length.Minutes())
			m, err := ask(g, cmd, rest.MeetAgent, in)
			if err != nil {
				return err
			}
			return g.show(cmd, m, func(p *printer) {
				p.line(m.Place + " " + m.Peer)
				proof := "it did not show that it holds a key"
				if m.Proven {
					proof = "it holds the key " + m.PlaceKey
				}
				p.note("%s calls itself %s; %s", m.Peer, firstOf(m.Name, "nothing"), proof)
				p.note("it says it can: %s", strings.Join(m.Actions, " "))
				p.table("SKILL", "NAME", "SUMMARY")
				for _, s := range m.Skills {
					p.row(s.ID, s.Name, s.Summary)
				}
			})
		},
	}
	cmd.Flags().StringVar(&in.Agent, "agent", "parley", "the agent of this hub that speaks")
	cmd.Flags().DurationVar(&length, "for", time.Hour, "how long the conversation lasts")
	cmd.Flags().BoolVar(&in.Insecure, "insecure", false, "allow plain http to another machine")
	return jsonFlag(cmd, g)
}

func (g *globals) listVisits(ctx context.Context, cmd *cobra.Command, c *hubapi.Client) error {
	out, err := hubapi.Call(ctx, c, rest.ListVisits, rest.None{})
	if err != nil {
		return err
	}
	return g.show(cmd, out.Visits, func(p *printer) {
		p.table("ID", "PLACE", "UNTIL", "MESSAGES", "NOTE")
		for _, v := range out.Visits {
			p.row(v.ID, v.URL, v.Until.Local().Format("15:04"), fmt.Sprintf("%d of %d", v.Interactions, v.Limit), firstOf(v.Problem, v.Warning))
		}
	})
}

func newPlaceDeposits(g *globals) *cobra.Command {
	var in rest.DepositQuery
	cmd := &cobra.Command{
		Use: "deposits [OWNER SKILL]", Short: "Skills on the shelf of a place; with an owner and a skill, that one", Args: cobra.MaximumNArgs(2),
		Long: `Skills that agents have left at a place for everybody. Nobody vouches for them; what
is taken by 'parley skill acquire' waits until a person has read it.

  parley place deposits                    on the shelf of this hub's own place
  parley place deposits --place ID         at the place of a visit
  parley place deposits OWNER tea          its first lines, and what others say of it`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return &exitError{exitFailed, "name the owner and the skill"}
			}
			if len(args) == 2 {
				d, err := ask(g, cmd, rest.ShowDeposit, rest.DepositRef{Owner: args[0], Skill: args[1], Agent: in.Agent, Place: in.Place})
				if err != nil {
					return err
				}
				return g.show(cmd, d, func(p *printer) { printDeposit(p, d) })
			}
			out, err := ask(g, cmd, rest.ListDeposits, in)
			if err != nil {
				return err
			}
			return g.show(cmd, out.Deposits, func(p *printer) {
				p.table("OWNER", "SKILL", "ABOUT", "TAGS", "BYTES", "DEPOSITED")
				for _, d := range out.Deposits {
					p.row(d.Owner, d.SkillID, d.Summary, strings.Join(d.Tags, ","), strconv.Itoa(d.SizeBytes), ago(d.Deposited))
				}
			})
		},
	}
	cmd.Flags().StringVar(&in.Agent, "agent", "parley", "the agent of this hub that looks")
	cmd.Flags().StringVar(&in.Place, "place", "", "id of the place of a visit (default: this hub's own place)")
	cmd.Flags().StringVar(&in.Search, "search", "", "only those with this in name or summary")
	return jsonFlag(cmd, g)
}

func printDeposit(p *printer, d rest.Deposit) {
	p.line(fmt.Sprintf("%s of %s, %d bytes, %s", d.SkillID, d.Owner, d.SizeBytes, d.ContentHash))
	p.line(d.Summary)
	for _, said := range d.Said {
		mark := " (claimed)"
		if said.Signed {
			mark = " (signed)"
		}
		p.line(said.Agent + mark + " says: " + said.Claim)
	}
	p.line("\n" + d.FirstLines)
}

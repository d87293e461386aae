package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"parley/client/hubapi"
	"parley/protocol/rest"
)

func newPlaceVisit(g *globals) *cobra.Command {
	var length time.Duration
	var keep, insecure bool
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
				v, err := hubapi.Call(ctx, c, rest.StartVisit, rest.VisitRequest{Agent: args[0], URL: args[1], Minutes: int(length.Minutes()), Keep: keep, Insecure: insecure})
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
	cmd.Flags().BoolVar(&insecure, "insecure", false, "allow plain http to another machine")
	cmd.Flags().StringVar(&end, "end", "", "end the visit with this id")
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

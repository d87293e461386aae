package main

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"parley/client/hubapi"
)

// visiting is an agent of the hub at another place as commands print it.
type visiting struct {
	ID           string    `json:"id"`
	Agent        string    `json:"agent"`
	AgentID      string    `json:"agent_id"`
	URL          string    `json:"url"`
	Place        string    `json:"place"`
	Name         string    `json:"name"`
	PlaceKey     string    `json:"place_key,omitempty"`
	Until        time.Time `json:"until"`
	Interactions int       `json:"interactions"`
	Limit        int       `json:"limit"`
	Warning      string    `json:"warning,omitempty"`
	Problem      string    `json:"problem,omitempty"`
}

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
			return g.onHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				switch {
				case end != "":
					return c.Do(ctx, "DELETE", "/api/place/visits/"+url.PathEscape(end), nil, nil, nil)
				case len(args) == 0:
					return g.listVisits(ctx, cmd, c)
				case len(args) == 1:
					return &exitError{exitFailed, "name the agent and the address of the place"}
				}
				var v visiting
				err := c.Do(ctx, "POST", "/api/place/visits", nil, map[string]any{
					"agent": args[0], "url": args[1], "minutes": int(length.Minutes()), "keep": keep, "insecure": insecure,
				}, &v)
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
	var out struct {
		Visits []visiting `json:"visits"`
	}
	if err := c.Do(ctx, "GET", "/api/place/visits", nil, nil, &out); err != nil {
		return err
	}
	return g.show(cmd, out.Visits, func(p *printer) {
		p.table("ID", "PLACE", "UNTIL", "MESSAGES", "NOTE")
		for _, v := range out.Visits {
			p.row(v.ID, v.URL, v.Until.Local().Format("15:04"), fmt.Sprintf("%d of %d", v.Interactions, v.Limit), firstOf(v.Problem, v.Warning))
		}
	})
}

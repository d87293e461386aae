package main

import (
	"context"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"parley/client/hubapi"
)

func newRoomOwner(g *globals) *cobra.Command {
	return jsonFlag(&cobra.Command{
		Use: "owner ROOM [PERSON]", Short: "Show whose room it is, or give it to somebody", Args: cobra.RangeArgs(1, 2),
		RunE: g.withRoom(func(ctx context.Context, cmd *cobra.Command, c *hubapi.Client, args []string) error {
			var room roomView
			err := c.Do(ctx, http.MethodGet, roomPath(args[0]), nil, nil, &room)
			if len(args) == 2 {
				err = c.Do(ctx, http.MethodPut, roomPath(args[0], "owner"), nil, map[string]string{"person": args[1]}, &room)
			}
			if err != nil {
				return err
			}
			return g.show(cmd, room, func(p *printer) { p.line(room.Owner) })
		}),
	}, g)
}

// roomHost is somebody whom an owner made a host.
type roomHost struct {
	Person  string    `json:"person"`
	Name    string    `json:"name"`
	By      string    `json:"by"`
	At      time.Time `json:"at"`
	Expires time.Time `json:"expires_at,omitzero"`
}

func newRoomHost(g *globals) *cobra.Command {
	var lasts time.Duration
	var remove bool
	cmd := &cobra.Command{
		Use: "host ROOM [PERSON]", Short: "List whom the owner made hosts, or make somebody one", Args: cobra.RangeArgs(1, 2),
		Example: "  parley room host standup bob --for 24h\n  parley room host standup bob --remove\n  parley room host standup",
		RunE: g.withRoom(func(ctx context.Context, cmd *cobra.Command, c *hubapi.Client, args []string) error {
			if len(args) == 2 {
				method, body := http.MethodPut, any(map[string]float64{"ttl": lasts.Seconds()})
				if remove {
					method, body = http.MethodDelete, nil
				}
				if err := c.Do(ctx, method, roomPath(args[0], "hosts", args[1]), nil, body, nil); err != nil {
					return err
				}
			}
			var out struct {
				Hosts []roomHost `json:"hosts"`
			}
			if err := c.Do(ctx, http.MethodGet, roomPath(args[0], "hosts"), nil, nil, &out); err != nil {
				return err
			}
			return g.show(cmd, out.Hosts, func(p *printer) {
				p.table("HOST", "BY", "UNTIL")
				for _, h := range out.Hosts {
					until := "withdrawn"
					if !h.Expires.IsZero() {
						until = h.Expires.Format(time.RFC3339)
					}
					p.row(h.Name, h.By, until)
				}
			})
		}),
	}
	cmd.Flags().DurationVar(&lasts, "for", 0, "how long, such as 24h; without, until it is withdrawn")
	cmd.Flags().BoolVar(&remove, "remove", false, "make them a host no more")
	return jsonFlag(cmd, g)
}

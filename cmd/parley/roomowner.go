package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"parley/client/hubapi"
	"parley/protocol/rest"
)

func newRoomOwner(g *globals) *cobra.Command {
	return jsonFlag(&cobra.Command{
		Use: "owner ROOM [PERSON]", Short: "Show whose room it is, or give it to somebody", Args: cobra.RangeArgs(1, 2),
		RunE: g.withRoom(func(ctx context.Context, cmd *cobra.Command, c *hubapi.Client, args []string) error {
			room, err := hubapi.Call(ctx, c, rest.GetRoom, rest.RoomName{Room: args[0]})
			if len(args) == 2 {
				room, err = hubapi.Call(ctx, c, rest.GiveRoom, rest.RoomGift{Room: args[0], Body: rest.PersonName{Person: args[1]}})
			}
			if err != nil {
				return err
			}
			return g.show(cmd, room, func(p *printer) { p.line(room.Owner) })
		}),
	}, g)
}

func newRoomHost(g *globals) *cobra.Command {
	var lasts time.Duration
	var remove bool
	cmd := &cobra.Command{
		Use: "host ROOM [PERSON]", Short: "List whom the owner made hosts, or make somebody one", Args: cobra.RangeArgs(1, 2),
		Example: "  parley room host standup bob --for 24h\n  parley room host standup bob --remove\n  parley room host standup",
		RunE: g.withRoom(func(ctx context.Context, cmd *cobra.Command, c *hubapi.Client, args []string) error {
			if len(args) == 2 {
				if err := changeHost(ctx, c, rest.HostName{Room: args[0], Person: args[1]}, lasts, remove); err != nil {
					return err
				}
			}
			out, err := hubapi.Call(ctx, c, rest.ListHosts, rest.RoomName{Room: args[0]})
			if err != nil {
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

func changeHost(ctx context.Context, c *hubapi.Client, whom rest.HostName, lasts time.Duration, remove bool) (err error) {
	if remove {
		_, err = hubapi.Call(ctx, c, rest.DismissHost, whom)
	} else {
		_, err = hubapi.Call(ctx, c, rest.AppointHost, rest.HostAppointment{HostName: whom, Body: rest.TTL{TTL: lasts.Seconds()}})
	}
	return err
}

package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"parley.internal/client/hubapi"
	"parley.internal/protocol/rest"
)

func newStatus(g *globals) *cobra.Command {
	var ready bool
	cmd := &cobra.Command{
		Use: "status", Short: "Show how the hub is", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if ready {
				if !hubReady(cmd.Context(), g.data) {
					return &exitError{code: 1, text: "no hub of " + g.data + " is ready"}
				}
				return nil
			}
			return g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				s, err := hubapi.Call(ctx, c, rest.GetStatus, rest.None{})
				if err != nil {
					return err
				}
				return g.show(cmd, s, func(p *printer) {
					p.note("%s %s at %s, up %s", s.Name, s.Version, c.Base(), time.Since(s.Started).Round(time.Second))
					p.table("CHECK", "STATE", "DETAIL")
					for _, check := range s.Checks {
						p.row(check.Name, okWord(check.OK), check.Detail)
					}
					for _, w := range s.Warnings {
						p.note("warning: %s", w.Text)
					}
				})
			})
		},
	}
	cmd.Flags().BoolVar(&ready, "ready", false, "only look whether the hub on this machine is ready: 0 if it is, else 1 (for health checks)")
	return jsonFlag(cmd, g)
}

func okWord(ok bool) string {
	if ok {
		return "ok"
	}
	return "NOT OK"
}

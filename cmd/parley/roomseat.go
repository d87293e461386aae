package main

import (
	"context"
	"net/http"

	"github.com/spf13/cobra"

	"parley/client/hubapi"
)

// seatView is an agent of the hub in a room.
type seatView struct {
	Room  string   `json:"room"`
	Agent string   `json:"agent"`
	KeyID string   `json:"keyId"`
	Tools []string `json:"tools,omitempty"`
	By    string   `json:"by"`
}

// seat has the hub seat one of its agents, or take it out again.
func (f *joinFlags) seat(ctx context.Context, g *globals, cmd *cobra.Command, c *hubapi.Client, room string) error {
	if f.leave {
		return c.Do(ctx, http.MethodDelete, roomPath(room, "agents", f.agent), nil, nil, nil)
	}
	var out seatView
	req := map[string]any{"agent": f.agent, "tools": f.tools}
	if err := c.Do(ctx, http.MethodPost, roomPath(room, "agents"), nil, req, &out); err != nil {
		return err
	}
	return g.show(cmd, out, func(p *printer) {
		p.line(out.Agent + " sits in " + out.Room + " and watches; let it speak with: parley room grant")
		p.note("%s", "its key: "+out.KeyID)
	})
}

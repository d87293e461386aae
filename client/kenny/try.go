package kenny

import (
	"context"
	"fmt"

	wire "parley.internal/protocol/kenny"
)

// Try connects once, to learn whether the hub accepts this machine's key, and
// leaves again. Nothing is served meanwhile. A refusal is a [*Closed] with
// [wire.CloseUnauthorized].
func (c *Client) Try(ctx context.Context) error {
	conn, err := c.cfg.Dial(ctx, c.urls[0])
	if err != nil {
		return err
	}
	if err := c.handshake(ctx, conn); err != nil {
		conn.Abort()
		return err
	}
	wait, cancel := context.WithTimeout(ctx, wire.HandshakeWait)
	defer cancel()
	if _, err := conn.Read(wait, wire.MaxRequest); err != nil {
		conn.Abort()
		return fmt.Errorf("waiting for the hub to accept: %w", err)
	}
	conn.Close(wire.CloseGoingAway, "only asking")
	return nil
}

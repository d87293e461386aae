package bench

import (
	"context"
	"io"

	"parley.internal/internal/bench/role"
)

// roles are the programs rows start beside themselves.
var roles = role.Roles{
	"tcp-echo": role.TCPEcho,
	"ws-echo":  role.WebSocketEcho,
	"tcp-fan":  role.TCPFan,
	"ws-fan":   role.WebSocketFan,
	"hub":      startHub,
	"room":     role.Room,
	"board":    boardHub,
	"machines": role.Machines,

	"endpoints": endpoints,
}

// RunRole is the other life of this program: it serves in a role until in ends.
func RunRole(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	return roles.Run(ctx, args, in, out)
}

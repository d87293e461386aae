package bench

import (
	"context"
	"io"
	"os"
	"slices"

	"parley.internal/internal/bench/role"
	"parley.internal/internal/terminal/keeper"
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
	if slices.Equal(args, []string{"keeper"}) {
		return keeper.Main(os.Stdin, os.Stdout) // it says hello in words of its own, and stays
	}
	return roles.Run(ctx, args, in, out)
}

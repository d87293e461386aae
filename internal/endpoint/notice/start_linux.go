package notice

import (
	"context"
	"os/exec"

	"parley.internal/internal/endpoint/screen"
)

// onDesktop runs the helper as the user of the desktop, with what leads there and
// nothing else of ours.
func onDesktop(ctx context.Context, line []string) error {
	seat, ok := screen.Find()
	if !ok {
		return screen.ErrNoDisplay
	}
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Env, cmd.SysProcAttr, cmd.Dir = seat.Env, seat.Attr(), "/"
	return cmd.Run()
}

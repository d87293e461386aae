package notice

import (
	"context"
	"os/exec"
	"slices"

	"parley.internal/internal/endpoint/screen"
)

// onDesktop runs the helper as the user at the console. launchctl enters their session
// and stays root; an answer must be theirs.
func onDesktop(ctx context.Context, line []string) error {
	seat, ok := screen.Find()
	if !ok {
		return screen.ErrNoDisplay
	}
	if n := len(seat.Wrap); n > 0 {
		line = slices.Concat(seat.Wrap, []string{"/usr/bin/sudo", "-n", "-u", "#" + seat.Wrap[n-1]}, line)
	}
	return exec.CommandContext(ctx, line[0], line[1:]...).Run()
}

package notice

import (
	"context"
	"io"

	"parley.internal/internal/endpoint/session"
)

// onDesktop runs the helper in the session of whoever is at the console, as them.
func onDesktop(ctx context.Context, line []string) error {
	_, err := session.Run(ctx, line, io.Discard)
	return err
}

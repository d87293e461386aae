package tools

import (
	"bytes"
	"context"
	"errors"

	"parley.internal/internal/endpoint/command"
	"parley.internal/internal/endpoint/session"
)

// capture runs the helper here when we have a desktop of our own, else as the
// user at the console.
func (s *Set) capture(ctx context.Context, picture *bytes.Buffer) (complaint string, status int, err error) {
	if len(s.deps.Helper) == 0 {
		return "", 0, errNoHelper
	}
	if session.Interactive() {
		res, err := command.Run(ctx, command.Spec{Path: s.deps.Helper[0], Args: s.deps.Helper[1:], Output: picture})
		return complaintOf(res.Stderr), res.ExitCode, err
	}
	status, err = session.Run(ctx, s.deps.Helper, picture)
	if errors.Is(err, session.ErrNobody) {
		return "", 0, failed("nobody is logged in at this machine")
	}
	return "the helper in the user's session failed", status, err
}

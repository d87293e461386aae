//go:build unix

package tools

import (
	"bytes"
	"context"
	"os/exec"
	"slices"

	"parley.internal/internal/endpoint/command"
	"parley.internal/internal/endpoint/screen"
)

func (s *Set) capture(ctx context.Context, picture *bytes.Buffer) (complaint string, status int, err error) {
	if len(s.deps.Helper) == 0 {
		return "", 0, errNoHelper
	}
	seat, ok := screen.Find()
	if !ok {
		return "", screen.ExitNoDisplay, nil
	}
	helper := slices.Concat(seat.Wrap, s.deps.Helper)
	res, err := command.Run(ctx, command.Spec{
		Path: helper[0], Args: helper[1:], Env: seat.Env, Output: picture,
		Prepare: func(cmd *exec.Cmd) { cmd.SysProcAttr = seat.Attr() },
	})
	return complaintOf(res.Stderr), res.ExitCode, err
}

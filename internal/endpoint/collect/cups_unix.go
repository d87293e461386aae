//go:build unix

package collect

import (
	"context"
	"errors"

	"parley.internal/internal/endpoint/command"
	"parley.internal/internal/endpoint/probe"
)

// printers asks CUPS.
func printers(ctx context.Context, _ *round) (*section, error) {
	if !command.Have("lpstat") {
		return nil, probe.ErrUnsupported
	}
	status, err := command.Output(ctx, "lpstat", "-p", "-d")
	if err != nil && !exitedWith(err, 1) { // 1: no printers, or no scheduler
		return nil, err
	}
	jobs, err := command.Output(ctx, "lpstat", "-o")
	if err != nil && !exitedWith(err, 1) {
		return nil, err
	}
	return printersSection(parseLpstat(string(status), string(jobs))), nil
}

// exitedWith reports whether a program ended with a certain status.
func exitedWith(err error, status int) bool {
	exit, ok := errors.AsType[*command.ExitError](err)
	return ok && exit.Code == status && status != 0
}

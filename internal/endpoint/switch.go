package endpoint

import (
	"context"
	"errors"
	"log/slog"

	"parley/internal/endpoint/control"
)

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// Turn moves the switch of the endpoint on this machine. While none runs, the
// file itself is written, by whoever may.
func Turn(ctx context.Context, folder string, mode control.Mode) (control.State, error) {
	reply, err := control.Ask(ctx, folder, control.Request{Do: mode})
	switch {
	case err == nil && reply.Error != "":
		return reply.State, errors.New(reply.Error)
	case err == nil:
		return reply.State, nil
	case !errors.Is(err, control.ErrNotRunning):
		return control.State{}, err
	}
	me, err := control.Me()
	if err != nil {
		return control.State{}, err
	}
	return control.NewSwitch(folder, discard()).Set(mode, me)
}

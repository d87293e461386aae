package endpoint

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"parley.internal/client/kenny"
	"parley.internal/internal/endpoint/control"
	"parley.internal/internal/endpoint/logs"
	wire "parley.internal/protocol/kenny"
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

// switched tells the hub, which shows where the switch stands. The log record of
// it does; where records of its level stay here, it is sent all the same.
func (e *Endpoint) switched(st control.State) {
	if level, _ := logs.ParseLevel(e.config.LogForward); level <= slog.LevelInfo {
		return
	}
	e.ring.Add(kenny.Record{
		At: time.Now(), Level: wire.LevelInfo, Target: wire.TargetControl, Message: "remote control switched",
		Fields: map[string]any{wire.ControlKey: string(st.Mode), "user": st.Name},
	})
}

// Waiting lists what waits for the person at this machine; it needs a running
// endpoint.
func Waiting(ctx context.Context, folder string) ([]control.Question, error) {
	reply, err := control.Ask(ctx, folder, control.Request{List: true})
	if err == nil && reply.Error != "" {
		err = errors.New(reply.Error)
	}
	if reply.Waiting == nil {
		reply.Waiting = []control.Question{} // none is a list, too
	}
	return reply.Waiting, err
}

// Decide answers a question for the person at this machine.
func Decide(ctx context.Context, folder string, n int, yes bool) error {
	reply, err := control.Ask(ctx, folder, control.Request{Answer: n, Yes: yes})
	if err == nil && reply.Error != "" {
		err = errors.New(reply.Error)
	}
	return err
}

package mmpagent

import (
	"context"
	"time"

	"parley.internal/protocol/mmp/board"
)

// Handler takes one message. An error gives it back to the queue, where the place
// can do that; it comes again.
type Handler func(ctx context.Context, m Message) error

// Pauses of Run after a failure.
const (
	pauseFirst = time.Second
	pauseMost  = 30 * time.Second
)

// Run receives until ctx ends. Where the place can, messages come by a WebSocket, or it
// waits there for them, and acknowledges each after its handler; else it polls, and a
// message is gone once it was handed over. Failures of the network are waited out.
func (a *Agent) Run(ctx context.Context, handle Handler) error {
	o := ReceiveOptions{Limit: 20, Manual: a.offers(ctx, board.FeatureAck)}
	if a.offers(ctx, board.FeatureLongPoll) {
		o.Wait = 50 * time.Second
	}
	in := inflow{agent: a, opts: o}
	defer a.disconnect()
	defer in.stop()
	pause := pauseFirst
	for ctx.Err() == nil {
		got, err := in.next(ctx)
		if err != nil {
			if ctx.Err() != nil {
				break
			}
			if !temporary(err) {
				return err
			}
			sleep(ctx, pause)
			pause = min(2*pause, pauseMost)
			continue
		}
		pause = pauseFirst
		for _, m := range got {
			if err := a.handle(ctx, o, m, handle); err != nil {
				return err
			}
		}
		if len(got) == 0 && o.Wait == 0 {
			sleep(ctx, a.opts.PollEvery)
		}
	}
	return ctx.Err()
}

// temporary errors are those that waiting may cure.
func temporary(err error) bool {
	e, refused := err.(*Error) //nolint:errorlint // call returns it bare
	return !refused || e.Status >= 500 || e.Status == 429
}

func (a *Agent) handle(ctx context.Context, o ReceiveOptions, m Message, handle Handler) error {
	var failed error
	if !m.handled { // else the place did not hear the acknowledgement, or forgot it
		failed = handle(ctx, m)
	}
	if !o.Manual {
		return nil
	}
	// What was handled is settled even while stopping, or it would come again.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	var err error
	if failed != nil {
		_, err = a.Release(ctx, m.ID)
	} else {
		_, err = a.Ack(ctx, m.ID)
	}
	if err != nil && temporary(err) {
		return nil // its lease ends by itself, and it comes again
	}
	return err
}

package notice

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
)

// Helper is a program that runs Watch on the desktop of whoever is at the machine.
// Without a desktop, questions wait for a command.
type Helper struct {
	line   []string
	log    *slog.Logger
	ctx    context.Context
	cancel context.CancelFunc
	busy   atomic.Bool
	work   sync.WaitGroup
}

// NewHelper makes one of a command line; Close ends it.
func NewHelper(line []string, log *slog.Logger) *Helper {
	h := &Helper{line: line, log: log}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h
}

// Show has the questions shown; the helper that runs already sees new ones itself.
func (h *Helper) Show() {
	if !h.busy.CompareAndSwap(false, true) {
		return
	}
	h.work.Go(func() {
		defer h.busy.Store(false)
		if err := onDesktop(h.ctx, h.line); err != nil && h.ctx.Err() == nil {
			h.log.Info("nobody was asked on a desktop", "see", looks(), "reason", err)
		}
	})
}

// Close ends the helper and waits for its end.
func (h *Helper) Close() {
	h.cancel()
	h.work.Wait()
}

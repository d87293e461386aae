// Command parley is the hub and everything around it: one binary that serves
// people and agents, runs on managed machines, and is the command line to both.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"parley.internal/internal/fit"
	"parley.internal/internal/visible"
)

// version is set by the build.
var version = "dev"

func main() { os.Exit(run(os.Args[1:])) }

// run is main without the exit, so that tests can drive the whole program.
func run(args []string) int {
	ctx, stop := untilSignal()
	defer stop()
	root := newRoot()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if exit, ok := errors.AsType[*exitError](err); ok {
		if exit.text != "" {
			fmt.Fprintln(os.Stderr, "parley:", visible.Text(exit.text))
		}
		return exit.code
	}
	fmt.Fprintln(os.Stderr, "parley:", visible.Text(fit.OneLine(err.Error())))
	return 1
}

// untilSignal ends its context with the first signal, which asks everything to finish.
// By then nobody listens for signals any more, so the second ends the process.
func untilSignal() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-signals:
		case <-ctx.Done():
		}
		signal.Stop(signals)
		cancel()
	}()
	return ctx, cancel
}

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
)

// version is set by the build.
var version = "dev"

func main() { os.Exit(run(os.Args[1:])) }

// run is main without the exit, so that tests can drive the whole program.
func run(args []string) int {
	// The first signal asks everything to finish; the second ends the process.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	root := newRoot()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if exit, ok := errors.AsType[*exitError](err); ok {
		if exit.text != "" {
			fmt.Fprintln(os.Stderr, "parley:", exit.text)
		}
		return exit.code
	}
	fmt.Fprintln(os.Stderr, "parley:", oneLine(err))
	return 1
}

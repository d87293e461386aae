// Command parley is the hub and everything around it: one binary that serves
// people and agents, runs on managed machines, and is the command line to both.
package main

import (
	"os"

	"parley.internal/cmd/internal/cli"
)

// version is set by the build.
var version = "dev"

func main() { os.Exit(run(os.Args[1:])) }

// run is main without the exit, so that tests can drive the whole program.
func run(args []string) int { return cli.Run(newRoot(), args) }

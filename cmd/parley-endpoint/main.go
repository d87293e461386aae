// Command parley-endpoint is the program on a managed machine, and nothing else: it has
// no hub, no database and no WebRTC in it, and is the one a hub hands out.
//
// Its commands are those of 'parley endpoint'. It also knows them under that name: services,
// shortcuts and updates of the larger program call them so, and one may replace the other.
package main

import (
	"os"

	"github.com/spf13/cobra"

	"parley.internal/cmd/internal/cli"
	"parley.internal/cmd/internal/endpointcmd"
)

// version is set by the build.
var version = "dev"

func main() { os.Exit(run(os.Args[1:])) }

// run is main without the exit, so that tests can drive the whole program.
func run(args []string) int { return cli.Run(newRoot(), args) }

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "parley-endpoint",
		Short: "The program on a machine that a Parley hub looks after",
		Long: `The program on a machine that a Parley hub looks after.

  parley-endpoint status    what it does here, and for which hub
  parley-endpoint off       forbid remote control; health reports go on`,
		SilenceUsage: true, SilenceErrors: true,
		Version: version,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	long := endpointcmd.New(version)
	long.Hidden = true
	root.AddCommand(endpointcmd.All(version)...)
	root.AddCommand(long, cli.NewVersion(version), cli.NewMan())
	cli.Strict(root)
	return root
}

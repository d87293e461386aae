package main

import (
	"os"

	"github.com/spf13/cobra"

	"parley.internal/internal/bench"
)

func newBench() *cobra.Command {
	var opts bench.Options
	cmd := &cobra.Command{
		Use: "bench [ROW...]", Short: "Measure Parley and this machine side by side, and print ratios",
		Long:    "Starts what it needs in a temporary folder, makes load, and prints for each row our\nfigure, the limit measured in the same run, and their ratio. Without arguments all rows run,\nwhich takes some minutes; 'parley bench --list' names them.",
		Example: "  parley bench --quick\n  parley bench echo fanout\n  parley bench durable --dir /var/lib/parley",
		RunE: func(cmd *cobra.Command, args []string) error {
			self, err := os.Executable()
			if err != nil {
				return err
			}
			opts.Rows, opts.Child = args, []string{self, benchRole}
			return bench.Run(cmd.Context(), opts, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&opts.List, "list", false, "only name the rows")
	flags.BoolVar(&opts.JSON, "json", false, "print JSON")
	flags.BoolVar(&opts.Markdown, "markdown", false, "print tables for a document")
	cmd.MarkFlagsMutuallyExclusive("json", "markdown")
	flags.BoolVar(&opts.Quick, "quick", false, "smaller loads: seconds instead of minutes")
	flags.StringVar(&opts.Dir, "dir", "", "folder for the data that is written, which is the disk that is measured (default: a temporary one)")
	flags.StringVar(&opts.DB, "db", "", "a PostgreSQL server, for the row across: postgres://… (it makes and drops a database of its own)")
	flags.StringVar(&opts.NATS, "nats", "", "NATS servers, for the row across: nats://…")
	flags.StringVar(&opts.Profile, "profile", "", "folder where the servers that are measured, and the rows themselves, leave CPU profiles")
	flags.IntVar(&opts.Machines, "machines", 0, "how many machines the row fleet simulates (default 2000)")
	return cmd
}

// benchRole is the command by which 'parley bench' starts its servers.
const benchRole = "bench-role"

func newBenchRole() *cobra.Command {
	return &cobra.Command{
		Use: benchRole, Hidden: true, Short: "A server that 'parley bench' measures",
		RunE: func(cmd *cobra.Command, args []string) error {
			return bench.RunRole(cmd.Context(), args, cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
}

package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"parley/client/hubapi"
	"parley/internal/hub"
	"parley/internal/hub/config"
	"parley/protocol/rest"
)

func newBackup(g *globals) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "backup", Short: "Write everything a hub keeps into one file, while it runs", Args: cobra.NoArgs,
		Long:    "The backup holds the database, the hub's key, the owner's token, agents, skills,\nsettings, recordings and what tasks handed over: keep it as safe as the data folder\nitself. Not in it: keys of hosted agents, and the rest of the workspace.",
		Example: "  parley backup -o parley-$(date +%F).tar.gz",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if file == "" {
				return usageError("say where to: -o FILE, or -o - for standard output")
			}
			c, done, err := g.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer done()
			counted := &counter{}
			err = toFile(file, cmd.OutOrStdout(), func(w io.Writer) error {
				return hubapi.Copy(cmd.Context(), c, io.MultiWriter(w, counted), rest.Backup, rest.None{})
			})
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "wrote %s (%d bytes)\n", file, counted.n)
			return nil
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "file to write, or - for standard output")
	return cmd
}

// counter counts what passes.
type counter struct{ n int64 }

func (c *counter) Write(b []byte) (int, error) {
	c.n += int64(len(b))
	return len(b), nil
}

func newRestore(g *globals) *cobra.Command {
	var db string
	cmd := &cobra.Command{
		Use: "restore FILE", Short: "Make a new data folder from a backup", Args: cobra.ExactArgs(1),
		Long: "Restores into the folder given by --data, which must be new or empty, and into a new\ndatabase: all of it or nothing. With --db postgres://… a backup of a SQLite hub moves\nto PostgreSQL, and the new folder's parley.yaml names that database.",
		RunE: func(cmd *cobra.Command, args []string) error {
			conf, err := config.Load(config.Sources{Data: g.data, Environ: os.Environ(), Flags: flagIf("db", db)})
			if err != nil {
				return err
			}
			if err := restore(cmd.Context(), conf, args[0], cmd.InOrStdin()); err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "restored into %s; start it with 'parley serve --data %s'\n", g.data, g.data)
			return nil
		},
	}
	cmd.Flags().StringVar(&db, "db", "", "restore into this database instead of SQLite in the folder")
	return cmd
}

func restore(ctx context.Context, conf config.Config, file string, stdin io.Reader) error {
	in := stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	return hub.Restore(ctx, conf, in)
}

func flagIf(name, value string) map[string]string {
	if value == "" {
		return nil
	}
	return map[string]string{name: value}
}

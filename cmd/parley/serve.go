package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"parley.internal/cmd/internal/cli"
	"parley.internal/cmd/parley/welcome"
	"parley.internal/internal/hub"
	"parley.internal/internal/hub/config"
	"parley.internal/internal/sandbox"
)

func newServe(g *globals) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "serve", Short: "Run a hub", Args: cobra.NoArgs,
		Long: "Run a hub until it is told to stop. The first start makes the data folder,\nthe hub's key and its owner, and prints a one-time login link.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			conf, err := loadConfig(g, cmd, file)
			if err != nil {
				return err
			}
			return serve(cmd.Context(), conf, cmd.OutOrStdout(), cmd.ErrOrStderr(), quick{})
		},
	}
	settingFlags(cmd, &file)
	return cmd
}

func newUp(g *globals) *cobra.Command {
	var file string
	var alone bool
	cmd := &cobra.Command{
		Use: "up", Short: "Start a hub here, add this machine to it and print a link to log in", Args: cobra.NoArgs,
		Long: "The quick start: runs a hub on this machine, adds the machine itself to it, and\nprints a one-time login link every time. Takes the same flags as 'parley serve'.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			conf, err := loadConfig(g, cmd, file)
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("log-level") && os.Getenv("PARLEY_LOG_LEVEL") == "" && conf.Log.Level == "info" && person(cmd.ErrOrStderr()) {
				conf.Log.Level = "warn" // a person reads what the hub says, not what it does
			}
			return serve(cmd.Context(), conf, cmd.OutOrStdout(), cmd.ErrOrStderr(), quick{link: true, machine: !alone})
		},
	}
	settingFlags(cmd, &file)
	cmd.Flags().BoolVar(&alone, "no-endpoint", false, "do not add this machine to the hub")
	return cmd
}

// settingFlags gives a command a flag for every setting that has one.
func settingFlags(cmd *cobra.Command, file *string) {
	for _, row := range config.Keys() {
		env, flag, fallback, help := row[1], row[2], row[3], row[4]
		if flag == "" {
			continue
		}
		cmd.Flags().String(flag[2:], fallback, fmt.Sprintf("%s (%s)", help, env))
	}
	cmd.Flags().StringVar(file, "config", "", "settings file (default: "+config.FileName+" in the data folder)")
}

func loadConfig(g *globals, cmd *cobra.Command, file string) (config.Config, error) {
	given := map[string]string{}
	cmd.Flags().Visit(func(f *pflag.Flag) { given[f.Name] = f.Value.String() })
	return config.Load(config.Sources{Data: g.data, File: file, Environ: os.Environ(), Flags: given})
}

// quick is what 'parley up' does beyond 'parley serve'.
type quick struct {
	link    bool // a login link at every start, not only the first
	machine bool // an endpoint for this machine
}

// serve runs the hub; a login link is printed on the first start, or always.
func serve(ctx context.Context, conf config.Config, out, remarks io.Writer, extra quick) error {
	log := newLogger(remarks, conf.Log)
	h, err := hub.Open(ctx, conf, hub.Options{Version: version, Logger: log, Box: sandbox.Probe(conf.Box.User), Keeper: keeperProgram()})
	if err != nil {
		return err
	}
	defer h.Close()
	var beside sync.WaitGroup
	defer beside.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	return h.Run(ctx, func(ready hub.Ready) error {
		if extra.machine {
			beside.Go(func() { thisMachine(ctx, conf, ready.URL, log) })
		}
		if !extra.link && !ready.FirstStart {
			return nil
		}
		link, err := h.LoginLink(ctx)
		if err != nil {
			return err
		}
		page := welcome.Page{URL: ready.URL, Link: link, Person: extra.link && person(out)}
		if page.ForPhone() {
			if page.Phone, err = h.LoginLink(ctx); err != nil {
				return err
			}
		}
		return page.Print(out)
	})
}

// newLogger writes for people on a terminal and for machines elsewhere.
func newLogger(w io.Writer, l config.Log) *slog.Logger {
	return cli.Logger(w, l.Format, l.SlogLevel())
}

// person reports whether what is written there is read as it comes.
func person(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isTerminal(f)
}

func isTerminal(f *os.File) bool { return cli.IsTerminal(f) }

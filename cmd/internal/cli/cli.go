// Package cli is what our programs' command lines have in common: how they end, how
// they say what was wrong, and what they write on a terminal.
//
// It knows neither the hub nor the endpoint, so that a small program stays small.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/lmittmann/tint"
	"github.com/spf13/cobra"

	"parley.internal/internal/fit"
	"parley.internal/internal/visible"
)

// Exit ends the program with a code of its own.
type Exit struct {
	Code int
	Text string
}

func (e *Exit) Error() string { return e.Text }

// Usage is a mistake in how the command was called.
func Usage(format string, args ...any) error {
	return &Exit{Code: 2, Text: fmt.Sprintf(format, args...)}
}

// Exactly wants n arguments, and says otherwise what is missing.
func Exactly(n int, otherwise string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != n {
			return Usage("%s", otherwise)
		}
		return nil
	}
}

// Run runs a program's command line and gives the code it ends with.
func Run(root *cobra.Command, args []string) int {
	ctx, stop := untilSignal()
	defer stop()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	name := root.Name() + ":"
	if exit, ok := errors.AsType[*Exit](err); ok {
		if exit.Text != "" {
			fmt.Fprintln(os.Stderr, name, visible.Text(exit.Text))
		}
		return exit.Code
	}
	fmt.Fprintln(os.Stderr, name, visible.Text(fit.OneLine(err.Error())))
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

// Strict makes a command that is not there, arguments that are too many or too few, and
// flags that are unknown, missing or exclude each other mistakes of the command line.
func Strict(root *cobra.Command) {
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return Usage("%s; see '%s --help'", fit.OneLine(err.Error()), root.Name())
	})
	strictArguments(root)
}

func strictArguments(cmd *cobra.Command) {
	check := cmd.Args
	if check == nil {
		check = cobra.ArbitraryArgs
	}
	cmd.Args = func(c *cobra.Command, args []string) error {
		err := cmp.Or(check(c, args), c.ValidateRequiredFlags(), c.ValidateFlagGroups())
		if _, own := errors.AsType[*Exit](err); err == nil || own {
			return err
		}
		return Usage("%s; see '%s --help'", fit.OneLine(err.Error()), c.CommandPath())
	}
	for _, sub := range cmd.Commands() {
		strictArguments(sub)
	}
}

// Logger writes for people on a terminal and for machines elsewhere, unless the format
// says which of the two.
func Logger(w io.Writer, format string, level slog.Level) *slog.Logger {
	if format == "auto" {
		format = "json"
		if f, ok := w.(*os.File); ok && IsTerminal(f) {
			format = "text"
		}
	}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level}))
	}
	return slog.New(tint.NewTextHandler(w, &tint.Options{Level: level, TimeFormat: "15:04:05"}))
}

// IsTerminal tells whether a person may read what is written there.
func IsTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

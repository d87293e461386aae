package main

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/spf13/cobra"

	"parley/internal/endpoint/install"
	"parley/internal/endpoint/logs"
	capture "parley/internal/endpoint/screen"
	"parley/internal/endpoint/update"
	"parley/internal/fit"
)

// The commands here are not for people: the endpoint starts them.

// newEndpointCapture takes a picture of the screen, on the desktop it runs on.
func newEndpointCapture() *cobra.Command {
	return &cobra.Command{
		Use: "capture", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := capture.Write(cmd.Context(), cmd.OutOrStdout())
			switch {
			case errors.Is(err, capture.ErrNoDisplay):
				return &exitError{code: capture.ExitNoDisplay, text: "no display"}
			case err != nil:
				return &exitError{code: capture.ExitFailed, text: fit.OneLine(err.Error())}
			}
			return nil
		},
	}
}

// newEndpointSwap replaces the installed program by a staged one.
func newEndpointSwap() *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use: "swap", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			plan, err := update.ReadPlan(path)
			if err != nil {
				return err
			}
			svc, err := install.Service(plan.Program, plan.Folder)
			if err != nil {
				return err
			}
			file := logs.OpenFile(filepath.Join(plan.Folder, "logs"))
			defer file.Close()
			outcome := update.Swap(cmd.Context(), plan, install.Manager{Service: svc}, slog.New(file.Handler(slog.LevelInfo)))
			update.Forget()
			if outcome.State != update.Connected {
				return fmt.Errorf("%s: %s", outcome.State, outcome.Reason)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&path, "plan", "", "what to do")
	return cmd
}

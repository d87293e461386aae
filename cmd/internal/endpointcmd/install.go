package endpointcmd

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"parley.internal/cmd/internal/cli"
	"parley.internal/internal/endpoint"
	"parley.internal/internal/endpoint/install"
	"parley.internal/internal/endpoint/logs"
	"parley.internal/internal/endpoint/notice"
	capture "parley.internal/internal/endpoint/screen"
	"parley.internal/internal/endpoint/update"
	"parley.internal/internal/fit"
)

func newInstall(version string) *cobra.Command {
	f := endpointFlags{version: version}
	cmd := &cobra.Command{
		Use: "install", Short: "Enrol this machine and run the endpoint as a service from now on", Args: cobra.NoArgs,
		Long: `Enrol this machine, copy this program to where programs live, and run it as a
service that starts with the machine. Needs an administrator. Installing again
keeps the machine's key and changes only what is given.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.install(cmd) },
	}
	f.add(cmd)
	return cmd
}

// newEnrol is for machines whose package manager brings program and service.
func newEnrol(version string) *cobra.Command {
	f := endpointFlags{version: version}
	cmd := &cobra.Command{
		Use: "enrol", Short: "Enrol this machine, for a service that is there already", Args: cobra.NoArgs,
		Long: `Enrol this machine and remember its hub, without a service of our own: for machines
whose package has one ('systemctl enable --now parley-endpoint'). Newer programs
come by the package manager then, not from the hub.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.enrolFor(cmd); err != nil {
				return err
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "This machine is enrolled. Start its service, or 'parley-endpoint run'.")
			return err
		},
	}
	f.add(cmd)
	return cmd
}

func (f *endpointFlags) install(cmd *cobra.Command) error {
	if err := install.Ready(); err != nil {
		return err
	}
	program := install.ProgramPath()
	svc, err := install.Service(program, f.state)
	if err != nil {
		return err
	}
	f.config.Service = true
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := (install.Plan{Service: svc, From: self, Program: program, Enrol: func() error { return f.enrolFor(cmd) }}).Run(); err != nil {
		return err
	}
	if err := install.Shortcuts(program, f.state); err != nil {
		fmt.Fprintln(cmd.ErrOrStderr(), "the shortcuts to switch remote control off and on could not be made:", fit.OneLine(err.Error()))
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "The endpoint runs as the service %s.\nThe person at this machine can switch remote control off at any time: %s off\n", install.Name(), program)
	return err
}

// enrolFor enrols the machine and writes down what the service needs to know.
func (f *endpointFlags) enrolFor(cmd *cobra.Command) error {
	token, err := f.enrolToken(cmd.InOrStdin())
	if err != nil {
		return err
	}
	e, err := endpoint.Open(endpoint.Options{State: f.state, Config: f.config, Token: token, Version: f.version, Console: quietLog(cmd.ErrOrStderr())})
	if err != nil {
		return err
	}
	defer e.Close()
	return e.Enrol(cmd.Context())
}

func newUninstall() *cobra.Command {
	var state string
	var purge bool
	cmd := &cobra.Command{
		Use: "uninstall", Short: "Stop and remove the endpoint's service", Args: cobra.NoArgs,
		Long: "Stop and remove the service. The machine's key and settings stay, unless --purge is given.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			program := install.ProgramPath()
			svc, err := install.Service(program, state)
			if err != nil {
				return err
			}
			if !install.Installed(svc) && !purge {
				return errors.New("the endpoint is not installed as a service here")
			}
			_ = svc.Stop() // it may not run
			if install.Installed(svc) {
				if err := svc.Uninstall(); err != nil {
					return err
				}
			}
			if err := install.RemoveShortcuts(program, state); err != nil {
				return err
			}
			if purge {
				return os.RemoveAll(state)
			}
			return nil
		},
	}
	stateFlag(cmd, &state)
	cmd.Flags().BoolVar(&purge, "purge", false, "also delete the machine's key, settings and logs")
	return cmd
}

// The commands here are not for people: the endpoint starts them.

// newCapture takes a picture of the screen, on the desktop it runs on.
func newCapture() *cobra.Command {
	return &cobra.Command{
		Use: "capture", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := capture.Write(cmd.Context(), cmd.OutOrStdout())
			switch {
			case errors.Is(err, capture.ErrNoDisplay):
				return &cli.Exit{Code: capture.ExitNoDisplay, Text: "no display"}
			case err != nil:
				return &cli.Exit{Code: capture.ExitFailed, Text: fit.OneLine(err.Error())}
			}
			return nil
		},
	}
}

// newNotice shows what waits for the person at the machine, on the desktop it
// runs on.
func newNotice() *cobra.Command {
	var state string
	cmd := &cobra.Command{
		Use: "notice", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return notice.Watch(cmd.Context(), state, notice.Desktop) },
	}
	stateFlag(cmd, &state)
	return cmd
}

// newSwap replaces the installed program by a staged one.
func newSwap() *cobra.Command {
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

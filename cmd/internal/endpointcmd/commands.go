// Package endpointcmd is the commands of the program on a managed machine. Two programs
// have them: parley, below 'endpoint', and the small parley-endpoint, which has nothing else.
package endpointcmd

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley.internal/cmd/internal/cli"
	"parley.internal/internal/endpoint"
	"parley.internal/internal/endpoint/control"
	"parley.internal/internal/endpoint/install"
)

// New is the command 'endpoint', with all others below it.
func New(version string) *cobra.Command {
	cmd := &cobra.Command{
		Use: "endpoint", Short: "The program on a managed machine: run, install, switch off and on, be asked", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(All(version)...)
	return cmd
}

// All are the commands themselves, of an endpoint of some version.
func All(version string) []*cobra.Command {
	return []*cobra.Command{
		newRun(version), newEnrol(version), newInstall(version), newUninstall(), newStatus(), newOn(), newOff(), newAsk(), newApprovals(), newDecide(true), newDecide(false),
		newCapture(), newNotice(), newSwap(),
	}
}

// endpointFlags are what an endpoint is told once and remembers.
type endpointFlags struct {
	version string
	config  endpoint.Config
	token   string
	state   string
	service bool
}

func (f *endpointFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.config.URL, "url", "", "the hub's address, such as https://hub.example.org; of a cluster without a balancer all addresses, between commas")
	flags.StringVar(&f.config.ID, "id", "", "this machine's id on the hub")
	flags.StringVar(&f.token, "token", "", "one-time token that enrols this machine; - reads it from the input (better: PARLEY_ENROLL_TOKEN)")
	flags.StringArrayVar(&f.config.ServerKeys, "server-key", nil, "the hub's public key; twice while a hub changes its key")
	flags.DurationVar(&f.config.Interval, "interval", 0, "time between two health reports (default 15m)")
	flags.StringArrayVar(&f.config.ReleaseKeys, "release-key", nil, "public key that signs updates of this program")
	flags.StringArrayVar(&f.config.UpdateHosts, "update-host", nil, "host that may serve updates, beside the hub")
	flags.StringVar(&f.config.LogForward, "log-forward", os.Getenv("PARLEY_LOG_FORWARD_LEVEL"), "least level of log records the hub gets: error, warn, info, debug, trace (PARLEY_LOG_FORWARD_LEVEL)")
	flags.BoolVar(&f.config.Insecure, "insecure", false, "allow an unencrypted connection to another host; use https instead")
	stateFlag(cmd, &f.state)
}

func stateFlag(cmd *cobra.Command, state *string) {
	cmd.Flags().StringVar(state, "state", endpoint.DefaultState(), "folder for the machine's key, settings, switch and logs")
}

// enrolToken keeps the token off the process list: from the input, or from the
// environment.
func (f *endpointFlags) enrolToken(in io.Reader) (string, error) {
	switch f.token {
	case "-":
		line, err := bufio.NewReader(io.LimitReader(in, 4096)).ReadString('\n')
		if err != nil && line == "" {
			return "", fmt.Errorf("reading the token: %w", err)
		}
		return strings.TrimSpace(line), nil
	case "":
		return os.Getenv("PARLEY_ENROLL_TOKEN"), nil
	}
	return f.token, nil
}

func newRun(version string) *cobra.Command {
	f := endpointFlags{version: version}
	cmd := &cobra.Command{
		Use: "run", Short: "Run the endpoint here, in the foreground", Args: cobra.NoArgs,
		Long: `Run the endpoint until it is told to stop. The first time it needs --url, --id,
--server-key and a token ('parley machine token ID' on the hub prints all four);
after that it remembers. With --state it needs no special rights.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.config.Service = f.service
			return install.Body(cmd.Context(), func(ctx context.Context) error { return f.run(ctx, cmd) })
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&f.service, "service", false, "started by the service manager")
	_ = cmd.Flags().MarkHidden("service")
	return cmd
}

func (f *endpointFlags) open(cmd *cobra.Command) (*endpoint.Endpoint, error) {
	token, err := f.enrolToken(cmd.InOrStdin())
	if err != nil {
		return nil, err
	}
	console := cli.Logger(cmd.ErrOrStderr(), "auto", slog.LevelInfo).Handler()
	return endpoint.Open(endpoint.Options{State: f.state, Config: f.config, Token: token, Version: f.version, Console: console})
}

func (f *endpointFlags) run(ctx context.Context, cmd *cobra.Command) error {
	e, err := f.open(cmd)
	if err != nil {
		return err
	}
	defer e.Close()
	return e.Run(ctx)
}

func newStatus() *cobra.Command {
	var state string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "status", Short: "Show this machine's endpoint, without asking a hub", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			st, err := endpoint.Look(cmd.Context(), state)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd, st)
			}
			printEndpoint(cmd.OutOrStdout(), st)
			return nil
		},
	}
	stateFlag(cmd, &state)
	jsonFlag(cmd, &asJSON)
	return cmd
}

func jsonFlag(cmd *cobra.Command, on *bool) { cmd.Flags().BoolVar(on, "json", false, "print JSON") }

func printJSON(cmd *cobra.Command, value any) error {
	enc := json.NewEncoder(cmd.OutOrStdout())
	enc.SetEscapeHTML(false)
	return enc.Encode(value)
}

func printEndpoint(w io.Writer, st endpoint.Status) {
	running := "not running"
	switch {
	case st.Connected:
		running = "connected since " + st.Since.Local().Format(time.DateTime)
	case st.Running:
		running = "running, not connected"
	}
	fmt.Fprintf(w, "endpoint        %s\n", running)
	fmt.Fprintf(w, "remote control  %s\n", describeSwitch(st.Switch))
	if st.Private {
		fmt.Fprintf(w, "more            only for administrators\n")
		return
	}
	enrolled := "not enrolled"
	if st.Enrolled {
		enrolled = "enrolled"
	}
	fmt.Fprintf(w, "machine         %s (%s)\nhub             %s\n", orDash(st.ID), enrolled, orDash(st.URL))
	fmt.Fprintf(w, "version         %s\npublic key      %s\nstate folder    %s\n", orDash(st.Version), orDash(st.PublicKey), st.State)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func describeSwitch(s control.State) string {
	by := ""
	if s.Name != "" {
		by = " (" + s.Name + ", " + s.At.Local().Format(time.DateTime) + ")"
	}
	switch {
	case s.Broken:
		return "off: the switch's file is damaged; an administrator can switch on again"
	case s.Mode == control.On:
		return "on" + by
	case s.Mode == control.Asking:
		return "on, and changes are asked here first" + by
	case s.Mode == control.Private:
		return "off, private things included" + by
	}
	return "off" + by
}

func newOn() *cobra.Command {
	var state string
	cmd := &cobra.Command{
		Use: "on", Short: "Allow remote control of this machine again", Args: cobra.NoArgs,
		Long: "Allow remote control again. Only whoever switched it off, or an administrator, can.",
		RunE: func(cmd *cobra.Command, _ []string) error { return turn(cmd, state, control.On) },
	}
	stateFlag(cmd, &state)
	return cmd
}

func newOff() *cobra.Command {
	var state string
	var private bool
	cmd := &cobra.Command{
		Use: "off", Short: "Forbid remote control of this machine; health reports go on", Args: cobra.NoArgs,
		Long: `Forbid everything that changes this machine, from the next request on. Reading
its health goes on. With --private nothing is shown either that may be private:
screen and files.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if private {
				return turn(cmd, state, control.Private)
			}
			return turn(cmd, state, control.Off)
		},
	}
	stateFlag(cmd, &state)
	cmd.Flags().BoolVar(&private, "private", false, "forbid screenshots and reading files too")
	return cmd
}

func turn(cmd *cobra.Command, state string, mode control.Mode) error {
	st, err := endpoint.Turn(cmd.Context(), state, mode)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "remote control is %s\n", describeSwitch(st))
	return err
}

// quietLog is for commands whose output is for people.
func quietLog(w io.Writer) slog.Handler {
	return slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelWarn})
}

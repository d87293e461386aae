package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"parley/internal/endpoint"
	"parley/internal/endpoint/install"
	"parley/internal/fit"
)

func newEndpointInstall() *cobra.Command {
	var f endpointFlags
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

func (f *endpointFlags) install(cmd *cobra.Command) error {
	if err := install.Ready(); err != nil {
		return err
	}
	program := install.ProgramPath()
	svc, err := install.Service(program, f.state)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := (install.Plan{Service: svc, From: self, Program: program, Enrol: func() error { return f.enrolFor(cmd) }}).Run(); err != nil {
		return err
	}
	if err := install.Shortcuts(program, f.state); err != nil {
		fmt.Fprintln(cmd.ErrOrStderr(), "parley: the shortcuts to switch remote control off and on could not be made:", fit.OneLine(err.Error()))
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "The endpoint runs as the service %s.\nThe person at this machine can switch remote control off at any time: parley endpoint off\n", install.Name())
	return err
}

// enrolFor enrols the machine and writes down what the service needs to know.
func (f *endpointFlags) enrolFor(cmd *cobra.Command) error {
	token, err := f.enrolToken(cmd.InOrStdin())
	if err != nil {
		return err
	}
	f.config.Service = true
	e, err := endpoint.Open(endpoint.Options{State: f.state, Config: f.config, Token: token, Version: version, Console: quietLog(cmd.ErrOrStderr())})
	if err != nil {
		return err
	}
	defer e.Close()
	return e.Enrol(cmd.Context())
}

func newEndpointUninstall() *cobra.Command {
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

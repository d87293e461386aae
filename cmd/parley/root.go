package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"parley.internal/cmd/internal/cli"
	"parley.internal/cmd/internal/endpointcmd"
	"parley.internal/cmd/parley/upgrade"
	"parley.internal/internal/hub/config"
)

// exitError ends the program with a code of its own.
type exitError struct {
	code int
	text string
}

func (e *exitError) Error() string { return e.text }

// As makes it what the programs' common command line knows.
func (e *exitError) As(target any) bool {
	exit, ok := target.(**cli.Exit)
	if ok {
		*exit = &cli.Exit{Code: e.code, Text: e.text}
	}
	return ok
}

// usageError is a mistake in how the command was called.
func usageError(format string, args ...any) error {
	return &exitError{code: 2, text: fmt.Sprintf(format, args...)}
}

// globals are the flags every command has.
type globals struct {
	data, hub, token string
	json             bool
}

func newRoot() *cobra.Command {
	g := &globals{}
	root := &cobra.Command{
		Use:   "parley",
		Short: "One hub where people and AI agents meet, talk and work, under consent",
		Long: `Parley is one self-hosted hub where people and AI agents meet, talk and work.

  parley up        start a hub here and print a link to log in
  parley doctor    look whether everything is in order

Commands reach a hub by --hub and --token (or PARLEY_HUB and PARLEY_TOKEN),
else through the data folder of a hub on this machine.`,
		SilenceUsage: true, SilenceErrors: true,
		Version: version,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	flags := root.PersistentFlags()
	flags.StringVar(&g.data, "data", config.DefaultData(), "data folder of the hub on this machine")
	flags.StringVar(&g.hub, "hub", "", "address of a hub, such as https://hub.example.org (PARLEY_HUB)")
	flags.StringVar(&g.token, "token", "", "token for that hub (better: PARLEY_TOKEN)")
	root.AddCommand(newServe(g), newUp(g), newChat(g), newMCP(g), newACP(g), newAgent(g), newConversation(g), newImport(g), newTask(g), newRun(g), newApprovals(g), newRules(g), newTerminal(g), newWorkspace(g), newRoom(g), newPlace(g), newSkill(g), newMachine(g), endpointcmd.New(version), newToken(g), newLogin(g), newAudit(g), newBackup(g), newRestore(g), newMigrate(g),
		upgrade.New(version, &g.data, hubReady), upgrade.NewVerify(), newDoctor(g), newStatus(g), newBench(), newBenchRole(), newKeeper(), cli.NewVersion(version), cli.NewMan())
	cli.Strict(root)
	return root
}

// jsonFlag adds --json to a command that lists or shows things.
func jsonFlag(cmd *cobra.Command, g *globals) *cobra.Command {
	cmd.Flags().BoolVar(&g.json, "json", false, "print JSON")
	return cmd
}

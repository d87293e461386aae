package main

import (
	"github.com/spf13/cobra"

	"parley.internal/internal/hub"
)

func newDoctor(g *globals) *cobra.Command {
	var end bool
	var file string
	cmd := &cobra.Command{
		Use: "doctor", Short: "Look whether everything is in order, and say what to do", Args: cobra.NoArgs,
		Long: "Checks the settings, the data folder's rights, the clock, the listener's port, the\ndatabase, who holds more than everyday rights, the bus, the model's key, TLS, the box and terminals without a hub. Changes nothing,\nunless --end-terminals asks for it. Takes the flags of 'parley serve', so that a database and NATS\nservers can be tried before a hub is given them.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			conf, err := loadConfig(g, cmd, file)
			if end && err == nil {
				hub.EndTerminals(conf)
			}
			findings := hub.Examine(cmd.Context(), conf, err)
			bad := false
			for _, f := range findings {
				bad = bad || f.State == hub.Bad
			}
			err = g.show(cmd, findings, func(p *printer) {
				p.table("", "CHECK", "FOUND", "WHAT TO DO")
				for _, f := range findings {
					p.row(mark(f.State), f.Check, f.Found, f.Advice)
				}
			})
			if err == nil && bad {
				return &exitError{code: 1}
			}
			return err
		},
	}
	settingFlags(cmd, &file)
	cmd.Flags().BoolVar(&end, "end-terminals", false, "end terminals that live on without a hub")
	return jsonFlag(cmd, g)
}

func mark(s hub.State) string {
	switch s {
	case hub.Good:
		return "ok"
	case hub.Bad:
		return "BAD"
	default:
		return "note"
	}
}

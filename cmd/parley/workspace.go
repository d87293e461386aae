package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"parley.internal/protocol/rest"
)

func newWorkspace(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "workspace", Short: "Share folders that agents work in", Args: cobra.NoArgs,
		Long: `Everybody's agents work in a folder of their own. A grant lets another person's agents use a
folder of yours, and nothing else of it:

  parley workspace grant bob --folder garden --read-only --until 2027-01-31
  parley workspace list
  parley workspace revoke ID`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newWorkspaceList(g), newWorkspaceGrant(g), newWorkspaceRevoke(g))
	return cmd
}

func newWorkspaceList(g *globals) *cobra.Command {
	return jsonFlag(&cobra.Command{
		Use: "list", Short: "List folders that you share, and that others share with you", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out, err := ask(g, cmd, rest.ListWorkspaceGrants, rest.None{})
			if err != nil {
				return err
			}
			return g.show(cmd, out.Grants, func(p *printer) { showGrants(p, out.Grants) })
		},
	}, g)
}

func showGrants(p *printer, list []rest.WorkspaceGrant) {
	p.table("ID", "OF", "FOR", "MAY", "UNTIL", "FOLDER")
	for _, one := range list {
		may, until, path := "change", "taken back", one.Path
		if one.ReadOnly {
			may = "read"
		}
		if !one.Until.IsZero() {
			until = one.Until.Local().Format(time.DateTime)
		}
		if path == "" {
			path = one.Folder + " (not there)"
		}
		p.row(one.ID, one.Owner, one.Person, may, until, path)
	}
}

func newWorkspaceGrant(g *globals) *cobra.Command {
	var body rest.WorkspaceGrantRequest
	var until string
	cmd := &cobra.Command{
		Use: "grant PERSON", Short: "Let the agents of somebody use your folder, or one in it", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			body.Person = args[0]
			if until != "" {
				at, err := endOf(until)
				if err != nil {
					return err
				}
				body.Until = at
			}
			made, err := ask(g, cmd, rest.GrantWorkspace, body)
			if err != nil {
				return err
			}
			return g.show(cmd, made, func(p *printer) { showGrants(p, []rest.WorkspaceGrant{made}) })
		},
	}
	cmd.Flags().StringVar(&body.Folder, "folder", "", "only this folder, in yours")
	cmd.Flags().BoolVar(&body.ReadOnly, "read-only", false, "they may read, and change nothing")
	cmd.Flags().StringVar(&until, "until", "", "when it ends by itself: a day (2027-01-31) or a time (2027-01-31T18:00:00Z)")
	return jsonFlag(cmd, g)
}

// endOf reads a day, which counts to its end, or a time.
func endOf(text string) (time.Time, error) {
	if day, err := time.ParseInLocation(time.DateOnly, text, time.Local); err == nil {
		return day.AddDate(0, 0, 1), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, fmt.Errorf("--until wants a day such as 2027-01-31 or a time such as 2027-01-31T18:00:00Z, not %q", text)
	}
	return at, nil
}

func newWorkspaceRevoke(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID", Short: "End a grant, at once", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, err := ask(g, cmd, rest.RevokeWorkspaceGrant, rest.ByID{ID: args[0]})
			return err
		},
	}
}

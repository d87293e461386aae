package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"parley/client/hubapi"
)

// workspaceGrant is a folder that somebody shared.
type workspaceGrant struct {
	ID       string    `json:"id"`
	Owner    string    `json:"owner"`
	Person   string    `json:"person"`
	Folder   string    `json:"folder"`
	Path     string    `json:"path,omitempty"`
	ReadOnly bool      `json:"read_only"`
	Until    time.Time `json:"until,omitzero"`
}

const workspaceGrants = "/api/workspace/grants"

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
			return g.onHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				var out struct {
					Grants []workspaceGrant `json:"grants"`
				}
				if err := c.Do(ctx, http.MethodGet, workspaceGrants, nil, nil, &out); err != nil {
					return err
				}
				return g.show(cmd, out.Grants, func(p *printer) { showGrants(p, out.Grants) })
			})
		},
	}, g)
}

func showGrants(p *printer, list []workspaceGrant) {
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
	var body struct {
		Person   string     `json:"person"`
		Folder   string     `json:"folder,omitempty"`
		ReadOnly bool       `json:"read_only,omitempty"`
		Until    *time.Time `json:"until,omitempty"`
	}
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
				body.Until = &at
			}
			return g.onHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				var made workspaceGrant
				if err := c.Do(ctx, http.MethodPost, workspaceGrants, nil, body, &made); err != nil {
					return err
				}
				return g.show(cmd, made, func(p *printer) { showGrants(p, []workspaceGrant{made}) })
			})
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
			return g.onHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				return c.Do(ctx, http.MethodDelete, workspaceGrants+"/"+url.PathEscape(args[0]), nil, nil, nil)
			})
		},
	}
}

package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"parley.internal/client/hubapi"
	"parley.internal/internal/durable"
	"parley.internal/protocol/rest"
)

func newAudit(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "audit", Short: "Read, verify and export the audit trail", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newAuditList(g), newAuditVerify(g), newAuditExport(g), newAuditCheckpoints(g), newAuditAcknowledge(g))
	return cmd
}

func newAuditList(g *globals) *cobra.Command {
	var f rest.AuditQuery
	var since time.Duration
	cmd := &cobra.Command{
		Use: "list", Short: "List entries, newest first", Args: cobra.NoArgs,
		Example: "  parley audit list --action token --since 24h",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if since > 0 {
				f.Since = time.Now().Add(-since)
			}
			list, err := ask(g, cmd, rest.ListAudit, f)
			if err != nil {
				return err
			}
			return g.show(cmd, list.Entries, func(p *printer) {
				p.table("SEQ", "TIME", "ACTOR", "ACTION", "TARGET", "OUTCOME")
				for _, e := range list.Entries {
					p.row(strconv.FormatInt(e.Seq, 10), e.At.Local().Format("2006-01-02 15:04:05"), e.Actor, e.Action, e.Target, e.Outcome)
				}
			})
		},
	}
	flags := cmd.Flags()
	flags.IntVarP(&f.Limit, "limit", "n", 50, "how many at the most")
	flags.StringVar(&f.Actor, "actor", "", "only what this actor did, such as person:alice")
	flags.StringVar(&f.Action, "action", "", "only actions beginning with this, such as token")
	flags.StringVar(&f.Target, "target", "", "only what was done to this")
	flags.StringVar(&f.Outcome, "outcome", "", "only this outcome, such as ok")
	flags.DurationVar(&since, "since", 0, "only the last hours, such as 24h")
	return jsonFlag(cmd, g)
}

func newAuditExport(g *globals) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "export", Short: "Write the whole trail as JSON lines that can be verified anywhere", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				return toFile(file, cmd.OutOrStdout(), func(w io.Writer) error { return hubapi.Copy(ctx, c, w, rest.ExportAudit, rest.None{}) })
			})
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "file to write (default: standard output)")
	return cmd
}

// toFile writes to a new file, which is there whole or not at all, or to out.
func toFile(name string, out io.Writer, write func(io.Writer) error) error {
	if name == "" || name == "-" {
		return write(out)
	}
	f, err := os.OpenFile(name+".part", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // renamed away when all is well
	if err := errors.Join(write(f), f.Sync(), f.Close()); err != nil {
		return err
	}
	return errors.Join(os.Rename(f.Name(), name), durable.Folder(filepath.Dir(name)))
}

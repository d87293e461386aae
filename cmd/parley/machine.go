package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley/client/hubapi"
	"parley/internal/visible"
)

func newMachine(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "machine", Short: "Managed computers: add, look at, use, update", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newMachineToken(g), newMachineLink(g), newMachineList(g), newMachineShow(g), newMachineRemove(g), newMachineCall(g), newMachineCollect(g),
		newMachineScreenshot(g), newMachineCalls(g), newMachineEvents(g), newMachineQueue(g), newMachineUpdate(g), newMachinePolicy(g))
	return cmd
}

func newMachineToken(g *globals) *cobra.Command {
	var req hubapi.EnrolRequest
	var ttl, grace time.Duration
	cmd := &cobra.Command{
		Use: "token ID", Short: "A one-time token that enrols a machine", Args: exactly(1, "name the machine"),
		Example: "  parley machine token studio-3\n  parley machine token studio-3 --rekey --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			req.TTLS = int64(ttl.Seconds())
			if cmd.Flags().Changed("grace") {
				s := int64(grace.Seconds())
				req.GraceS = &s
			}
			return g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				t, err := c.MachineToken(ctx, args[0], req)
				if err != nil {
					return err
				}
				return g.show(cmd, t, func(p *printer) {
					p.line(t.Token)
					p.note("for %s, once, until %s; on that machine:", t.Machine, t.Expires.Local().Format(time.DateTime))
					p.note("  PARLEY_ENROLL_TOKEN=… parley endpoint install --url %s --id %s --server-key %s", t.URL, t.Machine, t.ServerPublicKey)
				})
			})
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&req.Rekey, "rekey", false, "let an enrolled machine take a new key")
	flags.DurationVar(&grace, "grace", 0, "how long the old key stays good until the new one is used (default 168h)")
	flags.DurationVar(&ttl, "ttl", 0, "how long the token is good (default 24h, at most 720h)")
	flags.BoolVar(&req.Legacy, "legacy", false, "a bearer for an endpoint without keys; the hub must allow them")
	return jsonFlag(cmd, g)
}

func newMachineLink(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "link ID", Short: "One-liners that install the endpoint on a machine, new or known, once", Args: exactly(1, "name the machine"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				var l struct {
					Sh      string    `json:"sh,omitempty"`
					PS1     string    `json:"ps1,omitempty"`
					Expires time.Time `json:"expires_at"`
				}
				if err := c.Do(ctx, http.MethodPost, "/api/machines/"+url.PathEscape(args[0])+"/install-link", nil, nil, &l); err != nil {
					return err
				}
				return g.show(cmd, l, func(p *printer) {
					if l.Sh != "" {
						p.note("Linux and macOS:")
						p.line(l.Sh)
					}
					if l.PS1 != "" {
						p.note("Windows, in an administrator's PowerShell:")
						p.line(l.PS1)
					}
					p.note("until %s", l.Expires.Local().Format(time.DateTime))
				})
			})
		},
	}
	return jsonFlag(cmd, g)
}

func newMachineList(g *globals) *cobra.Command {
	var q, tag, presence, overall string
	cmd := &cobra.Command{
		Use: "list", Short: "List machines", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			query := url.Values{}
			for name, v := range map[string]string{"q": q, "tag": tag, "presence": presence, "overall": overall} {
				if v != "" {
					query.Set(name, v)
				}
			}
			return g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				list, err := c.Machines(ctx, query)
				if err != nil {
					return err
				}
				return g.show(cmd, list, func(p *printer) {
					p.table("ID", "PRESENCE", "HEALTH", "SWITCH", "SYSTEM", "VERSION", "TAGS", "SUMMARY")
					for _, m := range list {
						p.row(m.ID, m.Presence, m.Overall, orDash(m.Control), orDash(m.Meta.OS), orDash(m.Meta.Version), orDash(strings.Join(m.Tags, " ")), m.Summary)
					}
					if len(list) == 0 {
						p.note("no machines; 'parley machine link ID' gives a line that adds one")
					}
				})
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&q, "query", "q", "", "part of the id, name or hostname")
	flags.StringVar(&tag, "tag", "", "with this tag")
	flags.StringVar(&presence, "presence", "", "online, off, reconnecting or overdue")
	flags.StringVar(&overall, "overall", "", "ok, warn, crit or unknown")
	return jsonFlag(cmd, g)
}

// get fetches a value that is shown as it is.
func get(ctx context.Context, c *hubapi.Client, path string, query url.Values) (v json.RawMessage, err error) {
	err = c.Do(ctx, http.MethodGet, path, query, nil, &v)
	return v, err
}

func newMachineShow(g *globals) *cobra.Command {
	var section string
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show how a machine is, or one section of its telemetry", Args: exactly(1, "name the machine"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				at := "/api/machines/" + url.PathEscape(args[0])
				if section != "" {
					v, err := get(ctx, c, at+"/snapshot", url.Values{"section": {section}})
					if err != nil {
						return err
					}
					return g.show(cmd, v, func(p *printer) { p.line(indented(v)) })
				}
				m, err := c.Machine(ctx, args[0])
				if err != nil {
					return err
				}
				var h struct {
					Overall  string `json:"overall"`
					Sections map[string]struct {
						Status  string `json:"status"`
						Summary string `json:"summary"`
						Reason  string `json:"reason"`
						Muted   bool   `json:"muted"`
					} `json:"sections"`
				}
				if err := c.Do(ctx, http.MethodGet, at+"/health", nil, nil, &h); err != nil {
					return err
				}
				return g.show(cmd, map[string]any{"machine": m, "health": h}, func(p *printer) {
					p.note("%s (%s, %s %s): %s, remote control %s, %s", m.ID, visible.Line(m.Hostname), m.Meta.OS, m.Meta.Version, m.Presence, firstOf(m.Control, "unknown"), visible.Line(m.Summary))
					p.table("SECTION", "STATUS", "SUMMARY")
					for _, name := range slices.Sorted(maps.Keys(h.Sections)) {
						s := h.Sections[name]
						p.row(name, s.Status, firstOf(s.Reason, s.Summary))
					}
				})
			})
		},
	}
	cmd.Flags().StringVar(&section, "section", "", "the newest telemetry of one section")
	return jsonFlag(cmd, g)
}

// indented is JSON for people.
func indented(raw []byte) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return string(raw)
	}
	return string(b)
}

func newMachineRemove(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "remove ID", Short: "Take a machine out: its key is revoked, its connection ends", Args: exactly(1, "name the machine"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error { return c.RemoveMachine(ctx, args[0]) })
		},
	}
}

func newMachineScreenshot(g *globals) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "screenshot ID -o FILE", Short: "Take a picture of a machine's screen", Args: exactly(1, "name the machine"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if file == "" {
				return usageError("say where to put it: -o FILE")
			}
			return g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				var shot struct {
					N      int64 `json:"n"`
					Width  int   `json:"width"`
					Height int   `json:"height"`
				}
				at := "/api/machines/" + url.PathEscape(args[0]) + "/screenshots"
				if err := c.Patient().Do(ctx, http.MethodPost, at, nil, nil, &shot); err != nil {
					return callFailed(err)
				}
				return savePicture(ctx, c, fmt.Sprintf("%s/%d.png", at, shot.N), file)
			})
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "the file to write")
	return cmd
}

func savePicture(ctx context.Context, c *hubapi.Client, path, file string) error {
	body, err := c.Open(ctx, http.MethodGet, path, nil, nil)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	out, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if _, err := out.ReadFrom(body); err != nil {
		_ = out.Close()
		return err
	}
	return out.Close()
}

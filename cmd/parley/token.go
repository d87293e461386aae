package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley.internal/client/hubapi"
	"parley.internal/cmd/parley/welcome"
	"parley.internal/internal/identity"
	"parley.internal/protocol/rest"
)

func newToken(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "token", Short: "Make, list, rotate and revoke tokens", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newTokenCreate(g), newTokenList(g), newTokenRotate(g), newTokenRevoke(g))
	return cmd
}

func newTokenCreate(g *globals) *cobra.Command {
	var req rest.TokenRequest
	var ttl time.Duration
	var scopes []string
	cmd := &cobra.Command{
		Use: "create", Short: "Make a token; its secret is shown once", Args: cobra.NoArgs,
		Example: "  parley token create --name laptop --scopes task,approval --ttl 24h\n  parley token create --name phone --pairing",
		RunE: func(cmd *cobra.Command, _ []string) error {
			req.Scopes = scopes
			if ttl != 0 {
				req.TTL = ttl.String()
			}
			t, err := ask(g, cmd, rest.CreateToken, req)
			if err != nil {
				return err
			}
			for _, name := range identity.UnknownScopes(scopes...) {
				cmd.PrintErrf("%q is no scope, so the token has nothing of it\n", name)
			}
			return g.show(cmd, t, func(p *printer) {
				p.line(t.Token)
				p.note("id %s, scopes %s, %s", t.ID, strings.Join(t.Scopes, " "), until(t.Expires))
				if t.Code != "" {
					p.note("pairing code %s", t.Code)
				}
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&req.Name, "name", "", "what to call it")
	flags.StringVar(&req.Role, "role", "operator", "operator, or node for programs that only announce themselves")
	flags.StringSliceVar(&scopes, "scopes", nil, "what it may do: names, families or *, everyday work, which is the default; never more than you may")
	flags.DurationVar(&ttl, "ttl", 0, "how long it lives, at most as long as your own (default 90 days)")
	flags.StringVar(&req.Principal, "principal", "", "the person it is for, created if new (default: you)")
	flags.BoolVar(&req.Pairing, "pairing", false, "pair one device with it, within 15 minutes")
	return jsonFlag(cmd, g)
}

func newTokenList(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List tokens, without their secrets", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := ask(g, cmd, rest.ListTokens, rest.None{})
			if err != nil {
				return err
			}
			return g.show(cmd, list.Tokens, func(p *printer) {
				p.table("ID", "NAME", "KIND", "PERSON", "STATE", "SCOPES")
				for _, t := range list.Tokens {
					p.row(t.ID, t.Name, t.Kind, t.Principal.Name, tokenState(t), strings.Join(t.Scopes, " "))
				}
			})
		},
	}
	return jsonFlag(cmd, g)
}

func tokenState(t rest.Token) string {
	switch {
	case !t.Revoked.IsZero():
		return "revoked"
	case !t.Expires.IsZero() && t.Expires.Before(time.Now()):
		return "expired"
	default:
		return until(t.Expires)
	}
}

func until(t time.Time) string {
	if t.IsZero() {
		return "does not expire"
	}
	return "expires " + t.Local().Format("2006-01-02 15:04")
}

func newTokenRotate(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "rotate ID", Short: "Replace a token's secret; the old one works five minutes more", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := ask(g, cmd, rest.RotateToken, rest.Rotation{ID: args[0]})
			if err != nil {
				return err
			}
			return g.show(cmd, t, func(p *printer) {
				p.line(t.Token)
				p.note("the old secret works until %s", t.OldValidUntil.Local().Format("15:04:05"))
			})
		},
	}
	return jsonFlag(cmd, g)
}

func newTokenRevoke(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID", Short: "Revoke a token; what it opened and made ends within a second", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := ask(g, cmd, rest.RevokeToken, rest.ByID{ID: args[0]}); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), "revoked", args[0])
			return nil
		},
	}
}

func newLogin(g *globals) *cobra.Command {
	var principal string
	var scopes []string
	var asCode bool
	cmd := &cobra.Command{
		Use: "login", Short: "Make a one-time link that logs a browser in", Args: cobra.NoArgs,
		Example: "  parley login --principal bob\n  parley login --principal carol --scopes '*,terminal,agents:manage'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, done, err := g.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer done()
			link, err := hubapi.Call(cmd.Context(), c, rest.CreateLoginLink, rest.LoginLinkRequest{Principal: principal, Scopes: scopes})
			if err != nil {
				return err
			}
			for _, name := range identity.UnknownScopes(scopes...) {
				cmd.PrintErrf("%q is no scope, so the page has nothing of it\n", name)
			}
			url := c.Base() + link.Path
			return g.show(cmd, map[string]any{"url": url, "expires_at": link.Expires}, func(p *printer) {
				p.line(url)
				if code, err := welcome.QR(url); asCode && err == nil {
					for row := range strings.Lines(code) {
						p.line(strings.TrimSuffix(row, "\n"))
					}
				}
				p.note("opens once, %s", until(link.Expires))
				if asCode && !welcome.Reachable(url) {
					p.note("only this computer reaches that address: set public_url, or name the hub with --hub")
				}
			})
		},
	}
	cmd.Flags().StringVar(&principal, "principal", "", "the person to log in, created if new (default: you)")
	cmd.Flags().BoolVar(&asCode, "qr", false, "draw it as a QR code, too, for a phone to scan")
	cmd.Flags().StringSliceVar(&scopes, "scopes", nil, "what the page may do (default: for yourself what you may, for others *, everyday work)")
	return jsonFlag(cmd, g)
}

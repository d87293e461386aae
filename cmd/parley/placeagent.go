package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley.internal/client/mmpagent"
	"parley.internal/internal/fit"
	"parley.internal/internal/hub"
	"parley.internal/internal/visible"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/rest"
)

// visitor is how a command acts as an agent: where, and with which key.
type visitor struct {
	place, as, id string
	insecure      bool
}

func (v *visitor) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&v.place, "place", "", "address of a meeting place (default: this hub's)")
	flags.StringVar(&v.as, "as", "", "key file of the agent to act as; made if it is not there (default: keys/place/cli.pem in the data folder)")
	flags.StringVar(&v.id, "id", "", "the agent's id (default: the one its key gives)")
	flags.BoolVar(&v.insecure, "insecure", false, "allow plain http to another machine")
}

// enter opens the agent and registers it at the place.
func (v *visitor) enter(ctx context.Context, g *globals) (*mmpagent.Agent, error) {
	address := v.place
	if address == "" {
		address = firstOf(g.hub, os.Getenv("PARLEY_HUB"))
	}
	if address == "" {
		running, err := hub.Folder(g.data).Running()
		if err != nil {
			return nil, fmt.Errorf("no hub runs on %s: start one, or name a place with --place", g.data)
		}
		address = running.URL
	}
	path := v.as
	if path == "" {
		path = filepath.Join(g.data, "keys", "place", "cli.pem")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
	}
	keys, err := openKeys(path)
	if err != nil {
		return nil, err
	}
	peers, err := mmpagent.OpenPeers(path + ".peers.json")
	if err != nil {
		return nil, err
	}
	a, err := mmpagent.Open(address, mmpagent.Options{
		ID: v.id, Name: cmp.Or(v.id, "parley command line"), Version: version, Keys: keys, Peers: peers, Insecure: v.insecure,
		HTTP: &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment}},
	})
	if err != nil {
		return nil, err
	}
	_, err = a.Register(ctx)
	return a, err
}

func openKeys(path string) (mmpagent.Keys, error) {
	keys, err := mmpagent.OpenKeys(path, []byte(os.Getenv("PARLEY_PASSPHRASE")))
	if errors.Is(err, os.ErrNotExist) {
		return mmpagent.CreateKeys(path)
	}
	return keys, err
}

// visit runs a command's work as an agent.
func (v *visitor) visit(cmd *cobra.Command, g *globals, work func(context.Context, *mmpagent.Agent) error) error {
	a, err := v.enter(cmd.Context(), g)
	if err != nil {
		return err
	}
	return errors.Join(work(cmd.Context(), a), a.Close())
}

func newPlacePost(g *globals) *cobra.Command {
	v := &visitor{}
	p := mmpagent.Posting{}
	cmd := &cobra.Command{
		Use: "post TYPE [SKILL] [SUMMARY]", Short: "Put a posting on the board: offer_skill, request_skill or announcement", Args: cobra.RangeArgs(1, 3),
		Example: "  parley place post offer_skill Tea 'How to brew it' --tags drink",
		RunE: func(cmd *cobra.Command, args []string) error {
			args = append(args, "", "")
			p.Type, p.Skill, p.Summary = args[0], args[1], args[2]
			return v.visit(cmd, g, func(ctx context.Context, a *mmpagent.Agent) error {
				out, err := a.Post(ctx, p)
				if err != nil {
					return err
				}
				return g.show(cmd, out, func(w *printer) {
					w.line(out.PostingID)
					w.note("as %s, until %s", a.ID(), out.ExpiresAt.Local().Format("2006-01-02 15:04"))
				})
			})
		},
	}
	v.flags(cmd)
	cmd.Flags().StringSliceVar(&p.Tags, "tags", nil, "words to find it by")
	cmd.Flags().DurationVar(&p.TTL, "ttl", 0, "how long it stays (default: as the place likes)")
	return jsonFlag(cmd, g)
}

func newPlaceSend(g *globals) *cobra.Command {
	v := &visitor{}
	var kind string
	var accept string
	cmd := &cobra.Command{
		Use: "send ADDRESS [TEXT]", Short: "Seal a message for an agent and send it; the text may come from standard input", Args: cobra.RangeArgs(1, 2),
		Example: "  parley place send bob 'Good morning'\n  parley place send bob@friends --type note < letter.txt",
		RunE: func(cmd *cobra.Command, args []string) error {
			words := ""
			if len(args) == 2 {
				words = args[1]
			} else {
				data, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), mmp.MaxBlob))
				if err != nil {
					return err
				}
				words = string(data)
			}
			return v.visit(cmd, g, func(ctx context.Context, a *mmpagent.Agent) error {
				if accept != "" {
					if err := a.AcceptKey(ctx, args[0], accept); err != nil {
						return err
					}
				}
				out, err := a.Send(ctx, args[0], kind, words)
				if err != nil {
					return err
				}
				return g.show(cmd, out, func(w *printer) {
					w.line(out.RelayID)
					w.note("from %s, envelope %d, for key %s", a.ID(), out.Version, out.KeyID)
				})
			})
		},
	}
	v.flags(cmd)
	cmd.Flags().StringVar(&kind, "type", "note", "what kind of message it is; the place sees this")
	cmd.Flags().StringVar(&accept, "accept-key", "", "pin this key id for the address from now on, after asking its owner")
	return jsonFlag(cmd, g)
}

// received is a message as the command prints it.
type received struct {
	ID      string    `json:"id"`
	From    string    `json:"from"`
	Type    string    `json:"type"`
	At      time.Time `json:"at"`
	Level   string    `json:"level"`
	Signed  bool      `json:"signed"`
	Version int       `json:"envelope"`
	Text    string    `json:"text,omitempty"`
	JSON    mmp.Raw   `json:"json,omitempty"`
	Problem string    `json:"problem,omitempty"`
}

func receivedOf(m mmpagent.Message) received {
	r := received{ID: m.ID, From: m.From, Type: m.MessageType, At: m.CreatedAt.Time, Level: m.Level, Signed: m.Signed, Version: m.Version, Text: m.Content.Text, JSON: m.Content.JSON}
	if m.Problem != nil {
		r.Problem = fit.OneLine(m.Problem.Error())
	}
	return r
}

func newPlaceReceive(g *globals) *cobra.Command {
	v := &visitor{}
	o := mmpagent.ReceiveOptions{Limit: 100, Manual: true}
	cmd := &cobra.Command{
		Use: "receive", Short: "Fetch and open what waits for the agent", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return v.visit(cmd, g, func(ctx context.Context, a *mmpagent.Agent) error {
				got, err := a.Receive(ctx, o)
				if err != nil {
					return err
				}
				list, ids := []received{}, []string{}
				for _, m := range got {
					list, ids = append(list, receivedOf(m)), append(ids, m.ID)
				}
				err = g.show(cmd, list, func(w *printer) {
					w.table("TIME", "FROM", "TRUST", "TYPE", "MESSAGE")
					for _, r := range list {
						w.row(r.At.Local().Format("15:04:05"), r.From, r.Level, r.Type, firstOf(r.Text, string(r.JSON), "("+r.Problem+")"))
					}
				})
				if err != nil || len(ids) == 0 {
					return err
				}
				// Only what was printed is taken out of the queue.
				_, err = a.Ack(ctx, ids...)
				return err
			})
		},
	}
	v.flags(cmd)
	cmd.Flags().DurationVar(&o.Wait, "wait", 0, "wait for the first message, up to 60s")
	return jsonFlag(cmd, g)
}

func newPlaceCheck(g *globals) *cobra.Command {
	var o mmpagent.CheckOptions
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "check URL", Short: "Hold any meeting place against the protocol's compliance list", Args: cobra.ExactArgs(1),
		Long: `Registers two throw-away agents, goes through the compliance list of the protocol, and leaves.
Exit code 0 when nothing failed, 1 when something did, 2 when nobody answers.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			o.HTTP = &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment}}
			defer o.HTTP.CloseIdleConnections()
			report, err := mmpagent.Check(ctx, args[0], o)
			if err != nil {
				return &exitError{code: 2, text: fit.OneLine(err.Error())}
			}
			err = g.show(cmd, report, func(p *printer) {
				p.table("#", "REQUIREMENT", "RESULT", "DETAIL")
				for _, f := range report.Findings {
					p.row(fmt.Sprint(f.Number), f.Requirement, string(f.Result), f.Detail)
				}
				for _, n := range report.Notes {
					p.note("note: %s", visible.Line(n))
				}
			})
			if err == nil && !report.OK {
				return &exitError{code: 1, text: "the server does not follow the protocol"}
			}
			return err
		},
	}
	cmd.Flags().StringVar(&o.Direct, "direct", "", "where an agent is met directly (default: the same address)")
	cmd.Flags().DurationVar(&timeout, "timeout", 30*time.Second, "give up after this long")
	cmd.Flags().BoolVar(&o.Insecure, "insecure", false, "allow plain http to another machine")
	return jsonFlag(cmd, g)
}

func newPlaceKeys(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "keys", Short: "The key directory of the place, and an agent's own key files", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return placeKeys(cmd, g) },
	}
	cmd.AddCommand(newKeysNew(g), newKeysBackup(), newKeysRestore(g), newKeysRotate(g))
	return jsonFlag(cmd, g)
}

func newKeysNew(g *globals) *cobra.Command {
	return jsonFlag(&cobra.Command{
		Use: "new FILE", Short: "Make an agent's keys: FILE, FILE.hpke and FILE.pub", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			keys, err := mmpagent.CreateKeys(args[0])
			if err != nil {
				return err
			}
			return g.showKeys(cmd, keys)
		},
	}, g)
}

func (g *globals) showKeys(cmd *cobra.Command, keys mmpagent.Keys) error {
	public := keys.Ring.RSA.Public()
	return g.show(cmd, map[string]string{"file": keys.Path, "id": keys.ID(), "key_id": public.KeyID()}, func(p *printer) {
		p.line(keys.Path)
		p.note("agent id %s, key id %s", keys.ID(), public.KeyID())
	})
}

func newKeysBackup() *cobra.Command {
	var out, format string
	cmd := &cobra.Command{
		Use: "backup FILE", Short: "Seal an agent's key with a passphrase (PARLEY_PASSPHRASE)", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			secret, err := (&secretFlags{}).read(cmd, true)
			if err != nil {
				return err
			}
			if format != "parley" && format != "pem" {
				return usageError("--format is parley or pem")
			}
			keys, err := mmpagent.OpenKeys(args[0], secret)
			if err != nil {
				return err
			}
			backup, err := keys.Backup(secret, format == "pem")
			if err != nil {
				return err
			}
			if format == "pem" {
				fmt.Fprintln(cmd.ErrOrStderr(), "warning: this old form is for other programs; one round of MD5 is all that protects it")
			}
			if out == "" {
				_, err = cmd.OutOrStdout().Write(backup)
				return err
			}
			f, err := os.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			if err != nil {
				return err
			}
			_, err = f.Write(backup)
			return errors.Join(err, f.Sync(), f.Close())
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "where to write it (default: standard output)")
	cmd.Flags().StringVar(&format, "format", "parley", "parley, or pem for other implementations")
	return cmd
}

func newKeysRestore(g *globals) *cobra.Command {
	return jsonFlag(&cobra.Command{
		Use: "restore FILE BACKUP", Short: "Write an agent's key back from a backup of either form", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			secret, err := (&secretFlags{}).read(cmd, false)
			if err != nil {
				return err
			}
			backup, err := os.ReadFile(args[1])
			if err != nil {
				return err
			}
			keys, err := mmpagent.RestoreKeys(args[0], backup, secret)
			if err != nil {
				return err
			}
			return g.showKeys(cmd, keys)
		},
	}, g)
}

func newKeysRotate(g *globals) *cobra.Command {
	v := &visitor{}
	cmd := &cobra.Command{
		Use: "rotate NEWFILE", Short: "Give an agent a new key, made as NEWFILE: the old one (--as) names it, and peers follow", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return v.visit(cmd, g, func(ctx context.Context, a *mmpagent.Agent) error {
				next, err := mmpagent.CreateKeys(args[0])
				if err != nil {
					return err
				}
				if err := a.Rotate(ctx, next); err != nil {
					return err
				}
				out := map[string]string{"file": next.Path, "id": a.ID(), "key_id": next.Ring.RSA.Public().KeyID()}
				return g.show(cmd, out, func(p *printer) {
					p.line(next.Path)
					p.note("the agent keeps its id: from now on act with --as %s --id %s", next.Path, a.ID())
				})
			})
		},
	}
	v.flags(cmd)
	return jsonFlag(cmd, g)
}

func placeKeys(cmd *cobra.Command, g *globals) error {
	list, err := ask(g, cmd, rest.ListPlaceKeys, rest.PlaceLimit{})
	if err != nil {
		return err
	}
	return g.show(cmd, list.Keys, func(p *printer) {
		p.table("AGENT", "PROOF", "TRUSTED", "ENVELOPES", "CHANGED", "KEY ID")
		for _, k := range list.Keys {
			trusted := ""
			if k.Trusted {
				trusted = "yes"
			}
			p.row(k.Agent, firstOf(k.Proof, "none"), trusted, strings.Trim(fmt.Sprint(k.Envelopes), "[]"), ago(k.Changed), k.KeyID)
		}
	})
}

package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"parley.internal/client/hubapi"
	"parley.internal/internal/fit"
	"parley.internal/protocol/kibitz"
	"parley.internal/protocol/rest"
)

// policyFlags say what to do with a policy.
type policyFlags struct {
	show                                               bool
	set, manifest, key, allow, caps, label, thumbprint string
}

func newRoomPolicy(g *globals) *cobra.Command {
	var f policyFlags
	cmd := &cobra.Command{
		Use: "policy ROOM", Short: "Show or change who may enter a room", Args: cobra.ExactArgs(1),
		RunE: g.withRoom(func(ctx context.Context, cmd *cobra.Command, c *hubapi.Client, args []string) error {
			out, err := f.run(ctx, c, args[0])
			if err != nil {
				return err
			}
			return g.show(cmd, out, func(p *printer) {
				text, _ := json.MarshalIndent(out.Policy, "", "  ") // it came as JSON
				p.line(string(text))
				p.note("version %d", out.Version)
				for _, w := range out.Warnings {
					p.note("warning: %s", w)
				}
			})
		}),
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.show, "show", false, "show the policy (the default)")
	flags.StringVar(&f.set, "set", "", "replace it by this JSON file")
	flags.StringVar(&f.manifest, "manifest", "", "take the signed manifest in this file")
	flags.StringVar(&f.key, "key", "", "public key (JWK) the manifest is signed with")
	flags.StringVar(&f.allow, "allow", "", "let in the agent whose public key (JWK) is in this file")
	flags.StringVar(&f.caps, "caps", "", "with --allow: its grant, such as read-chat,send-chat")
	flags.StringVar(&f.label, "label", "", "with --allow: what people see beside its name")
	flags.StringVar(&f.thumbprint, "revoke", "", "take the key of this thumbprint away; its presence ends at once")
	cmd.MarkFlagsMutuallyExclusive("show", "set", "manifest", "allow", "revoke")
	return jsonFlag(cmd, g)
}

func (f *policyFlags) run(ctx context.Context, c *hubapi.Client, room string) (out rest.PolicyState, err error) {
	switch {
	case f.set != "":
		doc, err := readFile(f.set)
		if err != nil {
			return out, err
		}
		return hubapi.Call(ctx, c, rest.SetRoomPolicy, rest.PolicyChange{Room: room, Body: doc})
	case f.manifest != "":
		token, err := readFile(f.manifest)
		if err != nil {
			return out, err
		}
		key, err := readPublic(f.key)
		if err != nil {
			return out, err
		}
		doc, err := json.Marshal(rest.Manifest{Manifest: strings.TrimSpace(string(token)), Key: key})
		if err != nil {
			return out, err
		}
		return hubapi.Call(ctx, c, rest.SetRoomPolicy, rest.PolicyChange{Room: room, Body: doc})
	case f.allow != "":
		return f.allowKey(ctx, c, room)
	case f.thumbprint != "":
		return hubapi.Call(ctx, c, rest.RevokeKey, rest.RoomKey{Room: room, Thumbprint: f.thumbprint})
	}
	return hubapi.Call(ctx, c, rest.RoomPolicy, rest.RoomName{Room: room})
}

func (f *policyFlags) allowKey(ctx context.Context, c *hubapi.Client, room string) (out rest.PolicyState, err error) {
	key, err := readPublic(f.allow)
	if err != nil {
		return out, err
	}
	entry := kibitz.AllowedKey{Label: f.label}
	if entry.Key, err = json.Marshal(key); err != nil {
		return out, err
	}
	if f.caps != "" {
		if entry.Caps, err = readCaps(f.caps); err != nil {
			return out, err
		}
	}
	return hubapi.Call(ctx, c, rest.AllowKey, rest.KeyAllowance{Room: room, Body: entry})
}

// readPublic reads the public half of a key file, whichever half it holds.
func readPublic(path string) (*kibitz.PublicKey, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	data = bytes.TrimSpace(data)
	if key, err := kibitz.ParsePrivateKey(data); err == nil {
		return key.Public(), nil
	}
	key, err := kibitz.ParsePublicKey(data)
	if err != nil {
		return nil, usageError("%s: %s", path, fit.OneLine(err.Error()))
	}
	return key, nil
}

// keyView is what keygen tells.
type keyView struct {
	Thumbprint string            `json:"thumbprint"`
	Public     *kibitz.PublicKey `json:"public"`
	File       string            `json:"file,omitempty"`
}

func newRoomKeygen(g *globals) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use: "keygen", Short: "Make a key for an agent (P-256)", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			pair, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
			if err != nil {
				return err
			}
			key, err := kibitz.NewPrivateKey(pair)
			if err != nil {
				return err
			}
			secret, err := key.ExportPrivate()
			if err != nil {
				return err
			}
			if err := writeNew(out, append(secret, '\n')); err != nil {
				return err
			}
			view := keyView{key.Public().Thumbprint(), key.Public(), out}
			return g.show(cmd, view, func(p *printer) {
				public, _ := json.Marshal(view.Public)
				p.line(view.Thumbprint)
				p.line(string(public))
				p.note("the private key is in %s", out)
			})
		},
	}
	cmd.Flags().StringVar(&out, "out", "agent.key", "file for the private key; must not exist")
	return jsonFlag(cmd, g)
}

// writeNew writes a file only its owner can read, and never over another.
func writeNew(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return usageError("%s", fit.OneLine(err.Error()))
	}
	if _, err := f.Write(data); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

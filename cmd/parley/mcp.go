package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"parley.internal/client/acpbridge"
	"parley.internal/client/hubapi"
	"parley.internal/client/mcpbridge"
	"parley.internal/client/roommcp"
	"parley.internal/internal/fit"
	"parley.internal/internal/hub"
	"parley.internal/protocol/kibitz"
)

// mcpParts are what a model can be given: one part of the hub, or all.
var mcpParts = []string{"all", "agents", "fleet", "place", "room", "tasks"}

func newMCP(g *globals) *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use: "mcp " + strings.Join(mcpParts, "|"), Short: "Offer the hub's tools to a language model, over standard input and output",
		Long: `Speaks the Model Context Protocol on standard input and output, for desktop
programs that start tool servers themselves. It carries every message to the hub
with your token, so it can do what the token may do and nothing else; make a
narrow one with 'parley token create'.

'parley mcp room --key FILE' needs no token: the model enters rooms as the agent of
that key (see 'parley room keygen'), from this computer, over the room's WebSocket
or, if it asks for the transport webrtc, over WebRTC links.`,
		Example: "  parley mcp fleet\n  PARLEY_HUB=https://hub.example.org PARLEY_TOKEN=prl_… parley mcp all\n  parley mcp room --hub https://hub.example.org --key notes.key",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || !slices.Contains(mcpParts, args[0]) {
				return usageError("say which tools: %s", strings.Join(mcpParts, ", "))
			}
			if key != "" && args[0] != "room" {
				return usageError("--key is for 'parley mcp room'")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if key != "" {
				return g.mcpRoom(cmd, key)
			}
			return g.mcp(cmd, args[0])
		},
	}
	cmd.Flags().StringVar(&key, "key", "", "with room: enter as the agent of this key instead of by a token")
	return cmd
}

func newACP(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "acp AGENT", Short: "Let an editor drive an agent of the hub, over standard input and output",
		Long: `Speaks the Agent Client Protocol on standard input and output, for editors that
start agents themselves. Each session is a thread of your conversation with the
agent: it has its memory and its tools, which work on the hub, and can be seen and
continued on the page. What it may not do by itself is asked in the editor and in
the inbox; the first answer counts.`,
		Example: "  parley acp parley\n  PARLEY_HUB=https://hub.example.org PARLEY_TOKEN=prl_… parley acp parley",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError("name one agent; see 'parley agent list'")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			address, token, err := g.runningHub(cmd.Context())
			if err != nil {
				return err
			}
			talk, err := dialWeb(cmd.Context(), address, token)
			if err != nil {
				return err
			}
			defer func() { _ = talk.Close() }()
			if _, err := talk.GetAgent(cmd.Context(), args[0]); err != nil {
				return err
			}
			bridge := &acpbridge.Bridge{Agent: args[0], Talk: talk, Hub: hubapi.New(address, token), Version: version}
			return bridge.Run(cmd.Context(), endsWith(cmd.Context(), cmd.InOrStdin()), cmd.OutOrStdout())
		},
	}
}

// mcpRoom lets a model sit in rooms by a key of its own.
func (g *globals) mcpRoom(cmd *cobra.Command, file string) error {
	data, err := readFile(file)
	if err != nil {
		return err
	}
	key, err := kibitz.ParsePrivateKey(bytes.TrimSpace(data))
	if err != nil {
		return usageError("%s: %s", file, fit.OneLine(err.Error()))
	}
	address := firstOf(g.hub, os.Getenv("PARLEY_HUB"))
	if address == "" {
		running, err := hub.Folder(g.data).Running()
		if err != nil {
			return fmt.Errorf("no hub runs on %s: start one with 'parley up', or name one with --hub", g.data)
		}
		address = running.URL
	}
	server := &roommcp.Server{Hub: address, Key: key, Version: version}
	return server.Run(cmd.Context(), endsWith(cmd.Context(), cmd.InOrStdin()), cmd.OutOrStdout())
}

func (g *globals) mcp(cmd *cobra.Command, part string) error {
	address, token, err := g.runningHub(cmd.Context())
	if err != nil {
		return err
	}
	base, err := url.Parse(address)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return usageError("--hub: want an address such as https://hub.example.org")
	}
	path := "mcp"
	if part != "all" {
		path += "/" + part
	}
	bridge := &mcpbridge.Bridge{
		Endpoint: base.JoinPath(path).String(), Token: token,
		Client: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	defer bridge.Client.CloseIdleConnections()
	return bridge.Run(cmd.Context(), endsWith(cmd.Context(), cmd.InOrStdin()), cmd.OutOrStdout())
}

// endsWith is an input that ends with the context, too. Whoever waits for a line from a pipe
// cannot be interrupted, so a program that was told to stop went on until its client did.
func endsWith(ctx context.Context, in io.Reader) io.Reader {
	out, into := io.Pipe()
	context.AfterFunc(ctx, func() { _ = into.Close() })
	go func() { // ends with the input, or with the program
		_, err := io.Copy(into, in)
		_ = into.CloseWithError(err)
	}()
	return out
}

// runningHub is the hub a command is about, which must be running: the one that
// was named, else the one on the data folder.
func (g *globals) runningHub(ctx context.Context) (address, token string, err error) {
	address, token = firstOf(g.hub, os.Getenv("PARLEY_HUB")), firstOf(g.token, os.Getenv("PARLEY_TOKEN"))
	if address != "" {
		if token == "" {
			return "", "", usageError("a token is needed for %s: set PARLEY_TOKEN or give --token", address)
		}
		return address, token, nil
	}
	folder := hub.Folder(g.data)
	running, err := folder.Running()
	if err != nil || !answers(ctx, running.URL) {
		return "", "", fmt.Errorf("no hub runs on %s: start one with 'parley up', or name one with --hub and --token", g.data)
	}
	if token == "" {
		if token, err = folder.OwnerToken(); err != nil {
			return "", "", noHub(g.data, err)
		}
	}
	return running.URL, token, nil
}

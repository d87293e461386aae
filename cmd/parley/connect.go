package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"parley.internal/client/hubapi"
	"parley.internal/cmd/parley/direct"
	"parley.internal/internal/hub"
	"parley.internal/internal/hub/config"
	"parley.internal/protocol/rest"
)

// withHub runs a command's body with a client of its hub.
func (g *globals) withHub(cmd *cobra.Command, body func(ctx context.Context, c *hubapi.Client) error) error {
	c, done, err := g.connect(cmd.Context())
	if err != nil {
		return err
	}
	defer done()
	return body(cmd.Context(), c)
}

// ask has a command's hub do one thing.
func ask[In, Out any](g *globals, cmd *cobra.Command, op rest.Operation[In, Out], in In) (out Out, err error) {
	err = g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) (err error) {
		out, err = hubapi.Call(ctx, c, op, in)
		return err
	})
	return out, err
}

// patientClient comes again when the hub asks it to, and says so.
func patientClient(address, token string) *hubapi.Client {
	c := hubapi.New(address, token)
	c.Waits = sayWait
	return c
}

// sayWait tells whoever sits there why nothing happens.
func sayWait(d time.Duration) {
	fmt.Fprintf(os.Stderr, "parley: the hub asks to come again in %v; waiting\n", d)
}

// connect finds the hub a command is about: the one that was named, the one
// that runs on the data folder, or, if none runs there, the folder itself.
func (g *globals) connect(ctx context.Context) (*hubapi.Client, func(), error) {
	address, token := firstOf(g.hub, os.Getenv("PARLEY_HUB")), firstOf(g.token, os.Getenv("PARLEY_TOKEN"))
	if address != "" {
		if token == "" {
			return nil, nil, usageError("a token is needed for %s: set PARLEY_TOKEN or give --token", address)
		}
		return patientClient(address, token), func() {}, nil
	}
	folder := hub.Folder(g.data)
	if token == "" {
		owner, err := folder.OwnerToken()
		if err != nil {
			return nil, nil, noHub(g.data, err)
		}
		token = owner
	}
	if running, err := folder.Running(); err == nil && answers(ctx, running.URL) {
		return patientClient(running.URL, token), func() {}, nil
	}
	return g.inProcess(ctx, token)
}

func noHub(data string, err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("no hub has been started on %s: run 'parley up', or name a hub with --hub and --token", data)
	}
	return fmt.Errorf("reading the owner's token: %w", err)
}

// answers reports whether a hub lives at the address.
func answers(ctx context.Context, address string) bool { return says(ctx, address+"/healthz") }

// hubReady reports whether the hub of a folder runs and serves.
func hubReady(ctx context.Context, data string) bool {
	running, err := hub.Folder(data).Running()
	return err == nil && says(ctx, running.URL+"/readyz")
}

// says reports whether an address answers with a yes. Where nobody listens, the connection is refused
// at once; one that is taken and not yet answered is a hub on a busy machine.
func says(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return false
	}
	res, err := (&http.Client{}).Do(req)
	if err != nil {
		return false
	}
	return res.Body.Close() == nil && res.StatusCode == http.StatusOK
}

// inProcess opens the data folder's hub without a listener and talks to its
// REST face directly, so that every command works the same with and without a
// running hub.
func (g *globals) inProcess(ctx context.Context, token string) (*hubapi.Client, func(), error) {
	conf, err := config.Load(config.Sources{Data: g.data, Environ: os.Environ()})
	if err != nil {
		return nil, nil, err
	}
	h, err := hub.Open(ctx, conf, hub.Options{Version: version, Quiet: true})
	if err != nil {
		return nil, nil, err
	}
	return hubapi.WithTransport("http://127.0.0.1", token, direct.Transport{Handler: h.Handler()}), h.Close, nil
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

package main

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"parley.internal/client/hubapi"
	"parley.internal/client/viber"
	"parley.internal/internal/fit"
	"parley.internal/internal/hub"
	"parley.internal/protocol/rest"
	wire "parley.internal/protocol/viber"
)

// Exit codes of commands about tasks, besides 0 for completed and 2 for usage.
const (
	exitFailed  = 1
	exitStopped = 3
	exitNoHub   = 4
	exitWaiting = 5
)

// board reaches the hub over the board protocol. It needs a hub that runs: tasks
// and terminals live in it.
func (g *globals) board(ctx context.Context, scopes ...string) (*viber.Client, error) {
	address, token := firstOf(g.hub, os.Getenv("PARLEY_HUB")), firstOf(g.token, os.Getenv("PARLEY_TOKEN"))
	if address != "" && token == "" {
		return nil, usageError("a token is needed for %s: set PARLEY_TOKEN or give --token", address)
	}
	if address == "" {
		folder := hub.Folder(g.data)
		running, err := folder.Running()
		if err != nil || !answers(ctx, running.URL) {
			return nil, &exitError{exitNoHub, "no hub runs on " + g.data + ": start one with 'parley up', or name one with --hub and --token"}
		}
		address = running.URL
		if token == "" {
			if token, err = folder.OwnerToken(); err != nil {
				return nil, &exitError{exitNoHub, fit.OneLine(noHub(g.data, err).Error())}
			}
		}
	}
	target, err := boardURL(address)
	if err != nil {
		return nil, err
	}
	key, err := deviceKey(filepath.Join(g.data, "device.key"))
	if err != nil {
		return nil, err
	}
	c, err := dialPatiently(ctx, target, viber.Options{Token: token, Key: key, Scopes: scopes, Client: wire.ClientInfo{Name: "parley", Version: version}})
	if err != nil {
		return nil, &exitError{exitNoHub, fit.OneLine(err.Error())}
	}
	return c, nil
}

// patience is how long a command waits in all when the hub asks it to come again.
const patience = 30 * time.Second

// dialPatiently connects, and comes again when the hub says how soon.
func dialPatiently(ctx context.Context, target string, opts viber.Options) (*viber.Client, error) {
	for waited := time.Duration(0); ; {
		c, err := viber.Dial(ctx, target, opts)
		e, ok := errors.AsType[*viber.Error](err)
		if !ok || e.Code != wire.CodeRateLimited || e.RetryAfter <= 0 || waited+e.RetryAfter > patience {
			return c, err
		}
		waited += e.RetryAfter
		sayWait(e.RetryAfter)
		select {
		case <-time.After(e.RetryAfter):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// boardURL is where a hub speaks the board protocol.
func boardURL(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", usageError("%q is not http(s)://HOST", address)
	}
	u.Scheme = map[string]string{"http": "ws", "https": "wss"}[u.Scheme]
	u.Path = "/ws"
	return u.String(), nil
}

// deviceKey is the key with which this machine signs; hubs elsewhere want that. It
// is made once and kept where only its owner can read it. Where nothing can be
// kept, one for now will do.
func deviceKey(path string) (ed25519.PrivateKey, error) {
	if text, err := os.ReadFile(path); err == nil {
		return parseKey(path, text)
	}
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	if os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return key, nil
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return deviceKey(path) // another command was quicker
	}
	if err != nil {
		return key, nil //nolint:nilerr // a folder nobody can write to is no reason not to sign
	}
	_, err = file.Write(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	return key, errors.Join(err, file.Close())
}

func parseKey(path string, text []byte) (ed25519.PrivateKey, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s is not a key: remove it, and a new one is made", path)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	key, ok := parsed.(ed25519.PrivateKey)
	if err != nil || !ok {
		return nil, fmt.Errorf("%s is not an Ed25519 key: remove it, and a new one is made", path)
	}
	return key, nil
}

// withBoard runs a command on a connection to the hub.
func (g *globals) withBoard(cmd *cobra.Command, do func(context.Context, *viber.Client) error, scopes ...string) error {
	c, err := g.board(cmd.Context(), scopes...)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	return boardError(do(cmd.Context(), c))
}

// askBoard is ask for commands about tasks and terminals, with their exit codes.
func askBoard[In, Out any](g *globals, cmd *cobra.Command, op rest.Operation[In, Out], in In) (Out, error) {
	out, err := ask(g, cmd, op, in)
	_, own := errors.AsType[*exitError](err)
	no, answered := errors.AsType[*hubapi.Error](err)
	if err == nil || own || answered && no.Status != http.StatusUnauthorized && no.Status != http.StatusForbidden {
		return out, err
	}
	return out, &exitError{exitNoHub, fit.OneLine(err.Error())}
}

// boardError gives an error its exit code: refused and lost are 4.
func boardError(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*exitError](err); ok {
		return err
	}
	if errors.Is(err, viber.ErrConnectionLost) || errors.Is(err, viber.ErrAuthFailed) || errors.Is(err, viber.ErrInvalidToken) || errors.Is(err, viber.ErrClosed) {
		return &exitError{exitNoHub, fit.OneLine(err.Error())}
	}
	if e, ok := errors.AsType[*viber.Error](err); ok && e.Suggestion != "" {
		return fmt.Errorf("%w: %s", err, e.Suggestion)
	}
	return err
}

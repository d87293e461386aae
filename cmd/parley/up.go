package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"parley.internal/client/hubapi"
	"parley.internal/internal/endpoint"
	"parley.internal/internal/hub"
	"parley.internal/internal/hub/config"
	"parley.internal/protocol/rest"
)

// thisMachine runs an endpoint for this machine beside the hub of 'parley up',
// by the same routes any other machine uses, until ctx ends. The hub works
// without it, so its failure is only told.
func thisMachine(ctx context.Context, conf config.Config, address string, log *slog.Logger) {
	log = log.With("part", "endpoint")
	if err := serveMachine(ctx, conf, address, log); err != nil && ctx.Err() == nil {
		log.Warn("this machine could not be added to the hub", "error", err)
	}
}

func serveMachine(ctx context.Context, conf config.Config, address string, log *slog.Logger) error {
	data, err := filepath.Abs(conf.Data)
	if err != nil {
		return err
	}
	opts := endpoint.Options{State: filepath.Join(data, "endpoint"), Version: version, Console: log.Handler(), Protect: []string{data}}
	saved, err := endpoint.LoadConfig(opts.State)
	if err != nil {
		return err
	}
	opts.Config = endpoint.Config{URL: address}
	if saved.EnrolledWith == "" {
		if err := enrolHere(ctx, conf, address, &opts); err != nil {
			return err
		}
	}
	e, err := endpoint.Open(opts)
	if err != nil {
		return err
	}
	defer e.Close()
	return e.Run(ctx)
}

// enrolHere gets a token for this machine as the hub's owner. A name that is
// taken belongs to another machine: this one gets a longer name.
func enrolHere(ctx context.Context, conf config.Config, address string, opts *endpoint.Options) error {
	owner, err := hub.Folder(conf.Data).OwnerToken()
	if err != nil {
		return fmt.Errorf("reading the owner's token: %w", err)
	}
	client := hubapi.New(address, owner)
	id := machineID()
	m, err := mint(ctx, client, id)
	if e, ok := errors.AsType[*hubapi.Error](err); ok && e.Status == http.StatusConflict {
		tail := make([]byte, 3)
		rand.Read(tail)
		m, err = mint(ctx, client, id[:min(len(id), 56)]+"-"+hex.EncodeToString(tail))
	}
	if err != nil {
		return fmt.Errorf("a token for this machine: %w", err)
	}
	opts.Token = m.Token
	opts.Config.ID, opts.Config.ServerKeys = m.Machine, []string{m.ServerPublicKey}
	return nil
}

func mint(ctx context.Context, client *hubapi.Client, id string) (rest.EnrolToken, error) {
	return hubapi.Call(ctx, client, rest.MachineToken, rest.EnrolRequest{ID: id})
}

// machineID makes an id of the machine's name.
func machineID() string {
	name, err := os.Hostname()
	if err != nil {
		name = ""
	}
	name, _, _ = strings.Cut(strings.ToLower(name), ".")
	id := strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '-'
	}, name), "-")
	if id == "" {
		return "this-machine"
	}
	return id[:min(len(id), 63)]
}

package hub

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"os"
	"runtime"
	"time"

	"parley.internal/internal/face/api"
	"parley.internal/internal/face/front"
	"parley.internal/internal/face/tunnel"
	"parley.internal/internal/fleet"
	"parley.internal/internal/fleet/tools"
	"parley.internal/internal/fleet/update"
	"parley.internal/internal/hub/metrics"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/protocol/kenny"
)

// fleetPart is machines.
func (h *Hub) fleetPart() part {
	return part{
		name: "fleet", open: h.openFleet, faces: h.openTunnel,
		routes: func(routes *front.Routes, rest *api.API) error {
			api.RegisterFleet(rest, h.fleet, api.Live{People: h.people, Stopping: h.stopping})
			h.tunnel.Routes(routes)
			return nil
		},
		count: func(_ context.Context, _ identity.Actor, counts map[string]int64) error {
			presences := h.fleet.Presences()
			for _, n := range presences {
				counts["machines"] += int64(n)
			}
			counts["machines_online"] = int64(presences[fleet.Online])
			return nil
		},
		drain: func(ctx context.Context) error { return h.tunnel.Close(ctx) },
	}
}

func (h *Hub) openFleet(ctx context.Context) error {
	key, err := h.fleetKey()
	if err != nil {
		return err
	}
	releaseKeys := make([]ed25519.PublicKey, len(h.conf.Fleet.ReleaseKeys))
	for i, text := range h.conf.Fleet.ReleaseKeys {
		if releaseKeys[i], err = kenny.ParsePublicKey(text); err != nil {
			return fmt.Errorf("fleet.release_keys: %w", err)
		}
	}
	c := h.conf.Fleet
	f, err := fleet.New(fleet.Deps{
		DB: h.db, Bus: h.bus, Leases: h.leases, Audit: h.trail, Inbox: h.inbox, Key: key, Log: h.logger, Mask: h.mask, URL: h.url,
		Alone: h.db.Dialect() == store.SQLite, Owner: h.ownerID, Standing: h.people.Standing, Rules: h.approvalRules(ctx),
		Own: ownProgram(h.opts.Version), ReleaseKeys: releaseKeys,
		InsecureLegacyTokens: c.LegacyTokens, NoMirror: !c.Mirror, NoMCPApproval: c.Approval.MCP == "off",
		Limits: fleet.Limits{Ping: c.Ping, Silence: c.Silence, Overdue: c.Overdue, Drain: min(h.conf.ShutdownGrace, 10*time.Second)},
	})
	if err != nil {
		return err
	}
	h.fleet = f
	h.onClose(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), h.conf.ShutdownGrace)
		defer cancel()
		return f.Close(ctx)
	})
	h.minds.offer("machines", tools.Hosted(f, h.people.Standing)...)
	if h.opts.Quiet {
		return f.Load(ctx)
	}
	if c.LegacyTokens {
		h.logger.Warn("fleet.legacy_tokens: endpoints without keys are admitted by bearer token")
	}
	return f.Start(ctx)
}

// fleetKey is what machines pin: the hub's own key, or the one of a file.
func (h *Hub) fleetKey() (ed25519.PrivateKey, error) {
	if h.conf.Fleet.KeyFile == "" {
		return h.key, nil
	}
	data, err := os.ReadFile(h.conf.Fleet.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("fleet.key_file: %w", err)
	}
	key, err := kenny.ParseSeed(string(data))
	if err != nil {
		return nil, fmt.Errorf("fleet.key_file %s: %w", h.conf.Fleet.KeyFile, err)
	}
	return key, nil
}

// ownProgram is this very program, which is an endpoint too.
func ownProgram(version string) update.OwnProgram {
	path, err := programPath()
	if err != nil {
		return update.OwnProgram{}
	}
	return update.OwnProgram{Platform: runtime.GOOS + "-" + runtime.GOARCH, Version: version, Path: path}
}

func (h *Hub) ownerID(ctx context.Context) string {
	owner, err := h.people.Owner(ctx)
	if err != nil {
		return "owner"
	}
	return owner.ID
}

func (h *Hub) openTunnel(context.Context) error {
	l := h.conf.Fleet.Limits
	h.tunnel = tunnel.New(tunnel.Deps{
		Fleet: h.fleet, Front: h.front, Log: h.logger,
		Limits: tunnel.Limits{PerAddress: l.UnauthenticatedPerAddress, Total: l.Unauthenticated, Failures: l.FailuresPerMinute},
	})
	h.onClose(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), h.conf.ShutdownGrace)
		defer cancel()
		return h.tunnel.Close(ctx)
	})
	return h.metrics.Register(metrics.Fleet(h.fleet))
}

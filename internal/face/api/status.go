package api

import (
	"context"
	"time"

	"parley/internal/identity"
)

// Check is one thing the hub looks at to tell whether it is well.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

// Warning is something the owner should know.
type Warning struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// ModelInfo is the hub's model.
type ModelInfo struct {
	Active   string `json:"active"`
	Provider string `json:"provider"`
}

// Status is how the hub is, in one look.
type Status struct {
	Name          string           `json:"name"`
	Version       string           `json:"version"`
	HubID         string           `json:"hub_id"`
	PublicKey     string           `json:"public_key"`
	Started       time.Time        `json:"started_at"`
	UptimeS       int64            `json:"uptime_s"`
	Healthy       bool             `json:"healthy"`
	Checks        []Check          `json:"checks"`
	Counts        map[string]int64 `json:"counts"`
	Model         ModelInfo        `json:"model"`
	SpendTodayUSD float64          `json:"spend_today_usd"`
	Warnings      []Warning        `json:"warnings"`
}

type statusAnswer struct{ Body Status }

// RegisterStatus adds the one look; gather makes it for a caller.
func RegisterStatus(a *API, gather func(ctx context.Context, who identity.Actor) (Status, error)) {
	add(a, route{Method: "GET", Path: "/api/status", Scope: identity.StatusRead, Tag: "hub", Summary: "How the hub is"},
		func(ctx context.Context, who identity.Actor, _ *struct{}) (*statusAnswer, error) {
			s, err := gather(ctx, who)
			return &statusAnswer{s}, err
		})
}

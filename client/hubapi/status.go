package hubapi

import (
	"context"
	"io"
	"net/http"
	"time"
)

// Check is one thing a hub looks at to tell whether it is well.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

// Status is how a hub is.
type Status struct {
	Name    string    `json:"name"`
	Version string    `json:"version"`
	HubID   string    `json:"hub_id"`
	Started time.Time `json:"started_at"`
	Healthy bool      `json:"healthy"`
	Checks  []Check   `json:"checks"`
	// PublicKey signs the audit trail's checkpoints.
	PublicKey string    `json:"public_key"`
	Warnings  []Warning `json:"warnings,omitempty"`
}

// Warning is something the owner should know.
type Warning struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// Status asks how the hub is.
func (c *Client) Status(ctx context.Context) (out Status, err error) {
	return out, c.Do(ctx, http.MethodGet, "/api/status", nil, nil, &out)
}

// Backup copies a backup of everything the hub keeps.
func (c *Client) Backup(ctx context.Context, w io.Writer) error {
	body, err := c.Open(ctx, http.MethodPost, "/api/backup", nil, nil)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	_, err = io.Copy(w, body)
	return err
}

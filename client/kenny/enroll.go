package kenny

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	wire "parley.internal/protocol/kenny"
)

// enrollWait bounds an enrolment altogether.
const enrollWait = 30 * time.Second

// EnrollError is a hub's refusal.
type EnrollError struct {
	Status int
	// Code and Message are the hub's, as far as it gave any.
	Code, Message string
	// RetryAfter is how long the hub asks us to wait; 0 if it does not.
	RetryAfter time.Duration
}

// Error implements error.
func (e *EnrollError) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("enrol: HTTP %d: %v", e.Status, e.Unwrap())
	}
	return fmt.Sprintf("enrol: HTTP %d: %v: %s", e.Status, e.Unwrap(), e.Message)
}

// Unwrap gives the ErrEnroll… value of the status.
func (e *EnrollError) Unwrap() error {
	switch e.Status {
	case http.StatusBadRequest:
		return ErrEnrollInvalid
	case http.StatusUnauthorized:
		return ErrEnrollToken
	case http.StatusConflict:
		return ErrEnrollConflict
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return ErrEnrollBusy
	}
	return ErrEnrollAnswer
}

// EnrollOption changes how [Enroll] reaches the hub.
type EnrollOption func(*enrollment)

type enrollment struct {
	client    *http.Client
	plaintext bool
}

// WithHTTPClient uses a client with TLS settings or a proxy.
func WithHTTPClient(c *http.Client) EnrollOption { return func(e *enrollment) { e.client = c } }

// WithInsecurePlaintext lets the token travel unencrypted to another host. Use
// https instead.
func WithInsecurePlaintext() EnrollOption { return func(e *enrollment) { e.plaintext = true } }

// Enroll binds a machine's public key to its id with a one-time token. Asking
// again with the same token and key is harmless. A refusal is an [*EnrollError].
func Enroll(ctx context.Context, hub, id, token string, public ed25519.PublicKey, opts ...EnrollOption) error {
	var e enrollment
	for _, o := range opts {
		o(&e)
	}
	if err := wire.CheckPublicKey(public); err != nil {
		return err
	}
	address, err := EnrollURL(hub, id, e.plaintext)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, enrollWait)
	defer cancel()
	body, err := json.Marshal(map[string]string{"public_key": wire.FormatPublicKey(public)})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	return e.send(req, id)
}

func (e enrollment) send(req *http.Request, id string) error {
	client := plainClient(e.client)
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("enrol: %w", err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, wire.MaxUnauthenticated))
	if err != nil {
		return fmt.Errorf("enrol: %w", err)
	}
	var answer struct {
		OK      bool   `json:"ok"`
		AgentID string `json:"agent_id"`
		Error   struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	_ = json.Unmarshal(data, &answer) // a proxy may answer in its own words
	if resp.StatusCode == http.StatusOK && answer.OK && answer.AgentID == id {
		return nil
	}
	return &EnrollError{
		Status: resp.StatusCode, Code: answer.Error.Code, Message: answer.Error.Message, RetryAfter: retryAfter(resp),
	}
}

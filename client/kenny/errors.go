package kenny

import (
	"errors"
	"fmt"
	"time"

	wire "parley.internal/protocol/kenny"
)

// Why a session or a push ended.
var (
	// ErrServerUnverified: the hub could not prove it holds a pinned key.
	ErrServerUnverified = errors.New("the hub did not prove its identity")
	// ErrHandshake: the hub answered with something else than a challenge.
	ErrHandshake = errors.New("the hub did not follow the handshake")
	// ErrSilent: nothing was heard from the hub for too long.
	ErrSilent = errors.New("the hub fell silent")
	// ErrNotConnected: there is no session to push into.
	ErrNotConnected = errors.New("not connected")
	// ErrQueueFull: the outbound queue has no room; try again later.
	ErrQueueFull = errors.New("outbound queue is full")
)

// Why an enrolment failed; an [*EnrollError] unwraps to one of them.
var (
	// ErrEnrollInvalid: the hub does not accept this id or key (400).
	ErrEnrollInvalid = errors.New("the hub does not accept this id or key")
	// ErrEnrollToken: the token is not good for this machine (401).
	ErrEnrollToken = errors.New("the enrolment token is not valid for this machine")
	// ErrEnrollConflict: the machine or the token already holds another key (409).
	ErrEnrollConflict = errors.New("the machine is enrolled with another key")
	// ErrEnrollBusy: too many refused attempts; wait (429, 503).
	ErrEnrollBusy = errors.New("the hub asks to wait before enrolling")
	// ErrEnrollAnswer: an answer the protocol does not know.
	ErrEnrollAnswer = errors.New("unexpected answer to the enrolment")
)

// Closed is the hub's goodbye.
type Closed struct {
	Code   wire.CloseCode
	Reason string
}

// Error implements error.
func (c *Closed) Error() string {
	return fmt.Sprintf("closed by the hub: %d %s", c.Code, c.Reason)
}

// DialError is a hub that answered, but not with a tunnel.
type DialError struct {
	Status int
	// RetryAfter is how long the hub asks us to stay away; 0 if it does not.
	RetryAfter time.Duration
	Err        error
}

// Error implements error.
func (d *DialError) Error() string { return fmt.Sprintf("dial: HTTP %d: %v", d.Status, d.Err) }

// Unwrap gives the cause.
func (d *DialError) Unwrap() error { return d.Err }

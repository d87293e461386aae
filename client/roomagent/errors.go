package roomagent

import (
	"errors"
	"fmt"
	"time"
)

// What an agent can be told besides failures of the connection.
var (
	// ErrReadOnly says that the agent was made to watch only.
	ErrReadOnly = errors.New("this agent is read-only")
	// ErrNotJoined says that the agent is not in the room (yet).
	ErrNotJoined = errors.New("not in the room")
	// ErrLeft says that the agent has left.
	ErrLeft = errors.New("this agent has left")
	// ErrTooLarge says that what should be sent is larger than a room carries.
	ErrTooLarge = errors.New("too large for a room")
)

// DeniedError is a refusal of the room.
type DeniedError struct {
	Code, Reason string
}

func (e *DeniedError) Error() string { return fmt.Sprintf("%s: %s", e.Code, e.Reason) }

// RateError says when to try again.
type RateError struct {
	RetryAfter time.Duration
}

func (e *RateError) Error() string { return fmt.Sprintf("limit.rate: again in %s", e.RetryAfter) }

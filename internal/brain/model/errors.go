package model

import (
	"fmt"
	"time"
)

// Cause sorts what can go wrong with a model call.
type Cause string

// The causes.
const (
	CauseConnect Cause = "connect" // no connection, or cut before an answer
	CauseTimeout Cause = "timeout" // no first token, or a stall between tokens
	CauseStatus  Cause = "status"  // an HTTP status, in Status
	CauseContext Cause = "context" // the request is longer than the model's window
	CauseBadData Cause = "bad_data"
)

// Error is a failed model call.
type Error struct {
	Provider string
	Cause    Cause
	Status   int
	// RetryAfter is what the provider asked for, 0 if nothing.
	RetryAfter time.Duration
	Text       string
	Err        error
	// Final forbids a retry whatever the cause.
	Final bool
}

// Error reads "provider: text".
func (e *Error) Error() string {
	text := e.Text
	if text == "" && e.Err != nil {
		text = e.Err.Error()
	}
	if text == "" {
		text = fmt.Sprintf("failed (%s %d)", e.Cause, e.Status)
	}
	return e.Provider + ": " + text
}

// Unwrap gives the underlying error.
func (e *Error) Unwrap() error { return e.Err }

// Retryable reports whether the same call may succeed later: connection
// failures, time-outs, 408, 429 and 5xx.
func (e *Error) Retryable() bool {
	if e.Final {
		return false
	}
	switch e.Cause {
	case CauseConnect, CauseTimeout:
		return true
	case CauseStatus:
		return e.Status == 408 || e.Status == 429 || e.Status >= 500
	default:
		return false
	}
}

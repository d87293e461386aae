package viber

import (
	"errors"
	"fmt"
	"time"

	wire "parley.internal/protocol/viber"
)

// Errors of the client itself.
var (
	// ErrClosed says that the client was closed.
	ErrClosed = errors.New("client is closed")
	// ErrConnectionLost says that the connection ended before the answer came. The
	// server may or may not have done what it was asked.
	ErrConnectionLost = errors.New("connection lost")
	// ErrLagged says that a stream was read so slowly that it had to be given up.
	ErrLagged = errors.New("stream given up: it was read too slowly")
	// ErrFollowed says that this client already follows the task or terminal.
	ErrFollowed = errors.New("this client follows it already")
	// ErrVersion says that the server speaks another version of the protocol.
	ErrVersion = errors.New("the server speaks another version of the protocol")
	// ErrHandshake says that the server did not say what it should have.
	ErrHandshake = errors.New("the server did not follow the handshake")
	// ErrSilent says that nothing was heard from the server for too long.
	ErrSilent = errors.New("the server fell silent")
)

// Errors of the server, for errors.Is; errors.As gives the *Error with the rest.
var (
	ErrAuthFailed      error = &Error{Code: wire.CodeAuthFailed}
	ErrInvalidToken    error = &Error{Code: wire.CodeInvalidToken}
	ErrRateLimited     error = &Error{Code: wire.CodeRateLimited}
	ErrProtocol        error = &Error{Code: wire.CodeProtocolError}
	ErrTaskNotFound    error = &Error{Code: wire.CodeTaskNotFound}
	ErrAlreadyRunning  error = &Error{Code: wire.CodeAlreadyRunning}
	ErrBudgetExceeded  error = &Error{Code: wire.CodeBudgetExceeded}
	ErrApprovalTimeout error = &Error{Code: wire.CodeApprovalTimeout}
	ErrInternal        error = &Error{Code: wire.CodeInternalError}
)

// Error is a refusal by the server.
type Error struct {
	Code    wire.Code
	Reason  wire.Reason
	Message string
	// RetryAfter is how long to wait before trying again; zero = not said.
	RetryAfter time.Duration
	// TaskID is the task it is about, if any; of ErrAlreadyRunning, the one to follow.
	TaskID     string
	Suggestion string
	// Details are what the server said besides; may be nil.
	Details *wire.Details
}

// Error returns the message and the code.
func (e *Error) Error() string {
	code := string(e.Code)
	if e.Reason != "" {
		code += "/" + string(e.Reason)
	}
	if e.Message == "" {
		return code
	}
	return fmt.Sprintf("%s (%s)", e.Message, code)
}

// Is makes an error equal to the sentinel of its code.
func (e *Error) Is(target error) bool {
	s, ok := target.(*Error)
	return ok && s.Message == "" && s.Reason == "" && s.Code == e.Code
}

// UnsupportedError says that the server did not announce a capability.
type UnsupportedError struct{ Capability wire.Capability }

// Error names the capability.
func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("the server cannot do this: it does not announce %q", string(e.Capability))
}

// CloseError is the server's reason for closing the connection.
type CloseError struct {
	Code   wire.CloseCode
	Reason string
}

// Error returns the code and the reason.
func (e *CloseError) Error() string {
	return fmt.Sprintf("closed by the server: %d %s", e.Code, e.Reason)
}

// FailedError is a task that ended badly.
type FailedError struct{ *wire.TaskError }

// Error returns what went wrong.
func (e *FailedError) Error() string {
	return fmt.Sprintf("%s (%s)", e.TaskError.Error.Message, e.TaskError.Error.Type)
}

// Is makes a failure equal to the sentinel of its code.
func (e *FailedError) Is(target error) bool {
	s, ok := target.(*Error)
	return ok && s.Message == "" && s.Reason == "" && s.Code == e.TaskError.Error.Type
}

// StoppedError is a task that somebody stopped.
type StoppedError struct{ *wire.TaskStopped }

// Error says that the task was stopped, and why.
func (e *StoppedError) Error() string {
	if e.Reason == "" {
		return "the task was stopped"
	}
	return "the task was stopped: " + e.Reason
}

// TerminalError is a refusal about a terminal.
type TerminalError struct {
	TerminalID string
	Code       wire.TerminalCode
	Message    string
}

// Error returns the message and the code.
func (e *TerminalError) Error() string { return fmt.Sprintf("%s (%s)", e.Message, e.Code) }

// refusal returns the error that an answer is, nil if it is none. A task's own
// end is none: it answers, for example, a stop that came too late.
func refusal(p wire.Payload) error {
	switch p := p.(type) {
	case *wire.ConnectionError:
		e := &Error{Code: p.Code, Message: p.Message, Details: p.Details, RetryAfter: time.Duration(p.RetryAfterMS) * time.Millisecond}
		if p.Details != nil {
			e.Reason = p.Details.Reason
		}
		return e
	case *wire.TaskError:
		e := &Error{Code: p.Error.Type, Message: p.Error.Message, TaskID: p.TaskID, Suggestion: p.Error.Suggestion, Details: p.Details}
		if p.Details != nil {
			e.Reason = p.Details.Reason
		}
		return e
	case *wire.TerminalError:
		return &TerminalError{TerminalID: p.TerminalID, Code: p.Error.Type, Message: p.Error.Message}
	}
	return nil
}

// permanent reports whether coming back cannot help after a connection, or the
// attempt at one, ended with err.
func permanent(err error) bool {
	if closed, ok := errors.AsType[*CloseError](err); ok {
		e, said := errors.AsType[*Error](err)
		expired := said && e.Reason == wire.ReasonSessionExpired
		return !closed.Code.Reconnect() && !expired
	}
	return errors.Is(err, ErrClosed) || errors.Is(err, ErrVersion) || isRefused(err)
}

// refusedError marks an error answer to the handshake, after which the server
// may or may not have closed.
type refusedError struct{ answer *Error }

func (e refusedError) Error() string { return e.answer.Error() }
func (e refusedError) Unwrap() error { return e.answer }

func isRefused(err error) bool {
	r, ok := errors.AsType[refusedError](err)
	return ok && r.answer.Code != wire.CodeRateLimited && r.answer.Code != wire.CodeInternalError
}

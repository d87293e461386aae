package agentfirst

import (
	"errors"
	"fmt"

	wire "parley.internal/protocol/agentfirst"
)

// Errors of the client itself.
var (
	// ErrClosed says that the client was closed.
	ErrClosed = errors.New("client is closed")
	// ErrConnectionLost says that the connection ended before the answer came. The
	// server may or may not have done what it was asked.
	ErrConnectionLost = errors.New("connection lost")
	// ErrPlain says that the server speaks only the original protocol.
	ErrPlain = errors.New("the server does not know this request: it speaks only the original protocol")
	// ErrLagged says that a stream was read so slowly that it had to be given up.
	ErrLagged = errors.New("stream given up: it was read too slowly")
	// ErrUnexpectedAnswer says that the server answered something else than was asked.
	ErrUnexpectedAnswer = errors.New("unexpected answer")
)

// Errors of the server, for errors.Is; errors.As gives the *ServerError with its message.
var (
	ErrBadRequest      error = &ServerError{Code: wire.CodeBadRequest}
	ErrUnauthenticated error = &ServerError{Code: wire.CodeUnauthenticated}
	ErrForbidden       error = &ServerError{Code: wire.CodeForbidden}
	ErrNotFound        error = &ServerError{Code: wire.CodeNotFound}
	ErrConflict        error = &ServerError{Code: wire.CodeConflict}
	ErrGone            error = &ServerError{Code: wire.CodeGone}
	ErrTooLarge        error = &ServerError{Code: wire.CodeTooLarge}
	ErrTooMany         error = &ServerError{Code: wire.CodeTooMany}
	ErrInternal        error = &ServerError{Code: wire.CodeInternal}
	ErrProviderFailed  error = &ServerError{Code: wire.CodeProviderFailed}
	ErrUnavailable     error = &ServerError{Code: wire.CodeUnavailable}
	ErrProviderTimeout error = &ServerError{Code: wire.CodeProviderTimeout}
)

// ServerError is an error answer.
type ServerError struct {
	Code    wire.Code
	Message string
}

// Error returns the message and the code.
func (e *ServerError) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("%s (%d)", e.Code.Meaning(), e.Code)
	}
	return fmt.Sprintf("%s (%d)", e.Message, e.Code)
}

// Is makes an error equal to the sentinel of its code.
func (e *ServerError) Is(target error) bool {
	s, ok := target.(*ServerError)
	return ok && s.Message == "" && s.Code == e.Code
}

// RunError is a run that began and did not end well.
type RunError struct {
	Agent   string
	Stop    wire.StopReason
	Message string
}

// Error returns the message of the run's end.
func (e *RunError) Error() string { return e.Message }

// EndError returns the error an end event carries, nil when the run succeeded.
func EndError(end *wire.StreamEnd) error {
	if end.GetError() == "" {
		return nil
	}
	return &RunError{Agent: end.GetAgent(), Stop: end.GetStop(), Message: end.GetError()}
}

// errorIn returns the error answer in m, if it is one.
func errorIn(m *wire.ServerMessage) error {
	e := m.GetError()
	if e == nil {
		return nil
	}
	return &ServerError{Code: wire.Code(e.GetCode()), Message: e.GetMessage()}
}

package fault

import (
	"errors"
	"fmt"

	"parley.internal/internal/fit"
	"parley.internal/protocol/kenny"
)

// Code is the stable name of a failure: the protocol's own, or one of the hub's.
type Code = kenny.Code

// The codes. Those of the first group are the hub's, the rest a machine's, or the
// hub's in its place.
const (
	// Offline: the machine is away, or left during the call.
	Offline = kenny.CodeOffline
	// NoAgent: the call names no machine.
	NoAgent = kenny.CodeNoAgent
	// Forbidden: the caller's scopes do not reach that far, also for machines
	// that do not exist when the caller is limited to some.
	Forbidden = kenny.CodeForbidden
	// UnknownTool: not in the catalogue; never forwarded.
	UnknownTool = kenny.CodeUnknownTool
	// Busy: too many calls under way or waiting for this machine.
	Busy = kenny.CodeBusy
	// TooLarge: the request or the answer is larger than the wire allows.
	TooLarge = kenny.CodeTooLarge
	// Denied: a person said no.
	Denied = kenny.CodeDenied
	// ApprovalPending: nobody has answered yet; CallStatus tells how it goes on.
	ApprovalPending = kenny.CodeApprovalPending
	// ApprovalTimeout: nobody answered in time; nothing ran.
	ApprovalTimeout = kenny.CodeApprovalTimeout
	// Expired: the queue's time was over before the machine came back.
	Expired = kenny.CodeExpired
	// Cancelled: the caller gave up.
	Cancelled = kenny.CodeCancelled
	// Lost: sent, and the connection ended before the answer came. Whether it
	// ran nobody knows, so it is not repeated.
	Lost Code = "lost"
	// Unavailable: the hub cannot do it now (no binary, no trail, stopping).
	Unavailable Code = "unavailable"
	// Conflict: the thing is there already, or in another state.
	Conflict Code = "conflict"

	NotFound    = kenny.CodeNotFound
	BadArgs     = kenny.CodeBadArgs
	Unsupported = kenny.CodeUnsupported
	Timeout     = kenny.CodeTimeout
	Blocked     = kenny.CodeBlocked
	Disabled    = kenny.CodeDisabled
	ExecFailed  = kenny.CodeExecFailed
	Internal    = kenny.CodeInternal
)

// Error is what every refusal and failure of this package is. Its text reads
// "code: message", as every surface shows it.
type Error struct {
	Code    Code
	Message string
	// CallID names the call, once it has an id.
	CallID string
	// ApprovalID names the question in the inbox that an approval_pending waits for.
	ApprovalID string
	// FromMachine: code and message are the machine's own words.
	FromMachine bool
	cause       error
}

// Error implements error.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Unwrap gives the cause, for logs.
func (e *Error) Unwrap() error { return e.cause }

// Is makes errors.Is work with the sentinel of the same code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Message == "" && t.Code == e.Code
}

// Sentinels for errors.Is; each matches every Error of its code.
var (
	ErrOffline         error = &Error{Code: Offline}
	ErrForbidden       error = &Error{Code: Forbidden}
	ErrNotFound        error = &Error{Code: NotFound}
	ErrDenied          error = &Error{Code: Denied}
	ErrApprovalPending error = &Error{Code: ApprovalPending}
)

// CodeOf is the code of any error; what is not an [*Error] is internal.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return Internal
}

// Errorf makes an Error; %w keeps its cause.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), cause: errors.Unwrap(err)}
}

// FromWire makes an Error of what the protocol's own checks say.
func FromWire(err error) *Error {
	if e, ok := errors.AsType[*kenny.Error](err); ok {
		return &Error{Code: e.Code, Message: e.Message}
	}
	return Errorf(Internal, "%w", err)
}

// Quotable is a foreign name, short enough for a message.
func Quotable(s string) string { return fit.Cut(fit.Storable(s), 80) }

package viber

import (
	"errors"
	"fmt"
)

// Errors of the pure helpers.
var (
	// ErrBadSignature says that a challenge response is not the key's.
	ErrBadSignature = errors.New("the challenge is not signed by this key")
	// ErrDeviceMismatch says that a device id does not belong to the key.
	ErrDeviceMismatch = errors.New("the device id does not belong to this key")
	// ErrBadField says that a field cannot be part of the signed text.
	ErrBadField = errors.New("a signed field holds a newline")
	// ErrBadKey says that a public key is not 32 bytes in base64url.
	ErrBadKey = errors.New("a public key is 32 bytes in base64url")
	// ErrBadArguments says that tool arguments are not a JSON object.
	ErrBadArguments = errors.New("tool arguments are not a JSON object")
	// ErrArgumentsTooLarge says that the fragments of a call outgrew a frame.
	ErrArgumentsTooLarge = errors.New("tool arguments are too large")

	errNoPayload = errors.New("the payload is not JSON")
	errNoTime    = errors.New("not an ISO 8601 time")
)

// Violation is a frame that breaks the protocol. Its code is protocol_error.
type Violation struct {
	Reason  Reason
	Message string
	// Field is the JSON pointer of what is wrong, if one field is.
	Field string
	// Limit is the largest allowed size, if that is what was exceeded.
	Limit int
	// Close is the code to close with after the answer; zero = stay.
	Close CloseCode
}

// Error returns the text for people.
func (v *Violation) Error() string { return fmt.Sprintf("%s: %s", v.Reason, v.Message) }

// Answer is the connection:error that tells the client.
func (v *Violation) Answer() *ConnectionError {
	return &ConnectionError{
		Code: CodeProtocolError, Message: v.Message,
		Details: &Details{Reason: v.Reason, Field: v.Field, Limit: v.Limit},
	}
}

// BinaryFrame is the violation of a frame that is not text.
func BinaryFrame() *Violation {
	return &Violation{Reason: ReasonBinaryFrame, Message: "frames are JSON text; this one is binary"}
}

// FrameTooLarge is the violation of a frame above limit bytes, after which the
// connection cannot go on.
func FrameTooLarge(limit int) *Violation {
	return &Violation{
		Reason: ReasonTooLarge, Message: fmt.Sprintf("a frame has at most %d bytes", limit),
		Limit: limit, Close: CloseTooLarge,
	}
}

func violation(reason Reason, field, format string, args ...any) *Violation {
	return &Violation{Reason: reason, Field: field, Message: fmt.Sprintf(format, args...)}
}

func tooLarge(field string, limit int, unit string) *Violation {
	v := violation(ReasonTooLarge, field, "%s has at most %d %s", field[1:], limit, unit)
	v.Limit = limit
	return v
}

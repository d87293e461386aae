package kenny

import (
	"errors"
	"fmt"
)

// The kinds of bad frame; a [*FrameError] unwraps to one of them.
var (
	// ErrNotJSON: the text is no JSON, names a key twice or is no UTF-8.
	ErrNotJSON = errors.New("not valid JSON")
	// ErrInvalidFrame: JSON, but not what its type allows, or sent by the
	// side that may not send it.
	ErrInvalidFrame = errors.New("invalid frame")
	// ErrUnknownType: an object whose type this protocol version lacks.
	ErrUnknownType = errors.New("unknown frame type")
	// ErrTooLarge: over the limit of its type.
	ErrTooLarge = errors.New("frame too large")
)

// Refusals of keys, ids and seeds.
var (
	// ErrBadKey: not a public key this protocol accepts.
	ErrBadKey = errors.New("not a usable Ed25519 public key")
	// ErrBadSeed: not a 32-byte private seed.
	ErrBadSeed = errors.New("not a 32-byte Ed25519 seed")
	// ErrBadID: not a machine id.
	ErrBadID = errors.New("not a machine id")
	// ErrBadPins: none or too many server keys.
	ErrBadPins = errors.New("one or two server keys are needed")
	// ErrUnsigned: a signature that does not hold.
	ErrUnsigned = errors.New("signature does not verify")
)

// FrameError says why a message was refused.
type FrameError struct {
	// Kind is one of the Err… values for frames.
	Kind error
	// Type is the frame's type as far as it could be read; empty if it could not.
	Type Type
	// Reason is for a log; it repeats no value of the frame.
	Reason string
}

// Error implements error.
func (e *FrameError) Error() string {
	if e.Type == "" {
		return fmt.Sprintf("%v: %s", e.Kind, e.Reason)
	}
	return fmt.Sprintf("%v: %s: %s", e.Kind, e.Type, e.Reason)
}

// Unwrap gives the kind to errors.Is.
func (e *FrameError) Unwrap() error { return e.Kind }

package approval

import "errors"

// What the inbox can answer besides failures of the store.
var (
	// ErrNotFound answers for what does not exist and for what is not the caller's.
	ErrNotFound = errors.New("approval not found")
	// ErrForbidden says that the caller may see the question but not answer it.
	ErrForbidden = errors.New("not allowed to answer")
	// ErrInvalid says that a request or an answer makes no sense.
	ErrInvalid = errors.New("invalid approval")
	// ErrClosed ends waits when the inbox is closed; the questions stay.
	ErrClosed = errors.New("the inbox is closed")
)

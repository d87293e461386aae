package bus

import "errors"

var (
	// ErrNoResponders says that nobody subscribes to the subject of a request.
	ErrNoResponders = errors.New("bus: no responders")
	// ErrClosed says that the bus was closed.
	ErrClosed = errors.New("bus: closed")
	// ErrTooLarge says that a payload is larger than MaxPayload.
	ErrTooLarge = errors.New("bus: payload too large")
	// ErrBadSubject says that a subject (or a queue name) is malformed, or has a wildcard where none may be.
	ErrBadSubject = errors.New("bus: bad subject")
	// ErrDisconnected says that the bus has lost its servers and is trying to reach them again.
	ErrDisconnected = errors.New("bus: disconnected")
)

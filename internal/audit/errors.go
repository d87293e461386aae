package audit

import "errors"

// What can go wrong besides failures of the store.
var (
	// ErrInvalid says that an entry cannot be kept.
	ErrInvalid = errors.New("invalid audit entry")
	// ErrClosed says that the log was closed.
	ErrClosed = errors.New("the audit log is closed")
	// ErrNoCut says that there is no cut to acknowledge.
	ErrNoCut = errors.New("no checkpoint that was kept shows a cut of the trail")
)

package audit

import "errors"

// What can go wrong besides failures of the store.
var (
	// ErrInvalid says that an entry cannot be kept.
	ErrInvalid = errors.New("invalid audit entry")
	// ErrClosed says that the log was closed.
	ErrClosed = errors.New("the audit log is closed")
	// ErrNoEnd says that somebody took the row away that says where the trail ends.
	ErrNoEnd = errors.New("the audit trail was tampered with: what says where it ends (audit_head) is gone; restore a backup")
	// ErrNoCut says that there is no cut to acknowledge.
	ErrNoCut = errors.New("no checkpoint that was kept shows a cut of the trail")
)

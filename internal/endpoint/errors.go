package endpoint

import "errors"

// Why an endpoint does not start.
var (
	// ErrNotConfigured: there is no hub address, id or server key.
	ErrNotConfigured = errors.New("this endpoint has not been set up; give --url, --id, --server-key and --token once")
	// ErrNotEnrolled: there is no token and the key was never enrolled.
	ErrNotEnrolled = errors.New("this machine is not enrolled yet; a one-time token is needed: 'parley machine token ID' on the hub makes one")
	// ErrNeedsRekey: the hub knows this machine by another key.
	ErrNeedsRekey = errors.New("the hub knows this machine by another key; 'parley machine token ID --rekey' on the hub makes a token that replaces it")
	// ErrDamaged: a file in the state folder is not what it should be.
	ErrDamaged = errors.New("damaged")
	// ErrRunning: another endpoint uses the state folder.
	ErrRunning = errors.New("an endpoint is already running on this state folder")
)

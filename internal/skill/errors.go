package skill

import "errors"

// What can be wrong with a request.
var (
	// ErrNotFound: no such skill, exchange, thread or extension.
	ErrNotFound = errors.New("no such skill, exchange or thread")
	// ErrNotPublic: the skill stays at home.
	ErrNotPublic = errors.New("this skill is not public")
	// ErrState: it is past that.
	ErrState = errors.New("not possible any more")
	// ErrNoAgent: no agent of that name meets others.
	ErrNoAgent = errors.New("no such agent at the meeting place")
	// ErrInvalid: the request makes no sense.
	ErrInvalid = errors.New("invalid request")
	// ErrPlaceChanged: another place answers at the address than the one that was
	// visited first.
	ErrPlaceChanged = errors.New("the place's key has changed")
	// ErrNotShared: the peer has not said that it understands this.
	ErrNotShared = errors.New("the other agent does not support this")
)

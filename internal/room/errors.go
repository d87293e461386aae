package room

import (
	"errors"

	"parley.internal/protocol/kibitz"
)

var (
	// ErrUnavailable says that the hub cannot answer for the room now: it is
	// stopping, or the room is changing its owner.
	ErrUnavailable = errors.New("the room cannot be reached now; try again")
	// ErrStale says that the policy is not the version the caller has seen.
	ErrStale = errors.New("the policy has another version")
)

// deny makes a refusal.
func deny(code kibitz.Code, reason string) *kibitz.Refusal {
	return &kibitz.Refusal{Code: code, Reason: reason}
}

// refusalOf finds the refusal in an error; one of the store is the hub's fault.
func refusalOf(err error) *kibitz.Refusal {
	if r, ok := errors.AsType[*kibitz.Refusal](err); ok {
		return r
	}
	return deny(kibitz.GateUnavailable, "the hub cannot write this down now")
}

// Refusals that are said in more than one place.
var (
	errUnknownRoom = deny(kibitz.RoomUnknown, "there is no such room")
	errNotAdmitted = deny(kibitz.RoomNotAdmitted, "not in the room")
	errKicked      = deny(kibitz.Kicked, "removed by a host")
)

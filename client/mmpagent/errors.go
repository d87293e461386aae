package mmpagent

import (
	"errors"
	"fmt"

	"parley.internal/protocol/mmp"
)

// What a caller may want to tell apart.
var (
	// ErrUnauthorized: the place wants a proof, or refused ours.
	ErrUnauthorized = errors.New("not authorised")
	// ErrKeyPinned: the place holds another key for this id.
	ErrKeyPinned = errors.New("the place has pinned another key for this id")
	// ErrKeyChanged: an address has another key than the one pinned; see KeyChange.
	ErrKeyChanged = errors.New("the recipient's key has changed")
	// ErrQueueFull: the recipient's queue takes no more for now.
	ErrQueueFull = errors.New("the recipient's queue is full")
	// ErrRateLimited: too many requests, also after waiting.
	ErrRateLimited = errors.New("too many requests")
	// ErrNotFound: no such agent, key, posting or skill.
	ErrNotFound = errors.New("not found")
	// ErrDowngrade: the recipient could read signed envelopes before and now seems not to.
	ErrDowngrade = mmp.ErrDowngrade
	// ErrInsecure: plain HTTP to another machine.
	ErrInsecure = errors.New("plain http to another machine; use https, or say Insecure")
	// ErrUnsigned: the agent has no key, and this needs one.
	ErrUnsigned = errors.New("this agent has no key")
)

// Error is what a place answered.
type Error struct {
	Status     int
	Code       string
	Text       string
	RetryAfter int // seconds
}

// Error reads "code: text".
func (e *Error) Error() string {
	if e.Code == "" || e.Code == e.Text {
		return fmt.Sprintf("the place answered %d: %s", e.Status, e.Text)
	}
	return fmt.Sprintf("the place answered %d %s: %s", e.Status, e.Code, e.Text)
}

// Is matches the errors above by what the place said.
func (e *Error) Is(target error) bool {
	switch target {
	case ErrUnauthorized:
		return e.Status == 401 || e.Status == 403
	case ErrKeyPinned:
		return e.Code == mmp.ErrKeyPinned.Code
	case ErrQueueFull:
		return e.Code == mmp.ErrQueueFull.Code
	case ErrRateLimited:
		return e.Status == 429 && e.Code != mmp.ErrQueueFull.Code
	case ErrNotFound:
		return e.Status == 404
	}
	return false
}

// KeyChange is an alarm: somebody else may be behind the address now.
type KeyChange struct {
	Address     string
	Pinned, Now string // key ids
}

// Error names both keys, so that people can compare them.
func (e *KeyChange) Error() string {
	return fmt.Sprintf("the key of %s has changed: %s was pinned, the place now shows %s; ask its owner, then accept the new one", e.Address, e.Pinned, e.Now)
}

// Is matches ErrKeyChanged.
func (e *KeyChange) Is(target error) bool { return target == ErrKeyChanged }

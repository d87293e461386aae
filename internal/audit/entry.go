package audit

import (
	"encoding/hex"
	"fmt"
	"time"
)

// Entry is one thing that happened. A writer fills it; the log numbers it.
type Entry struct {
	// At is when it happened; zero means now. Kept to the microsecond.
	At time.Time
	// Actor did it: "person:alice", "agent:parley", "machine:pc-7", "hub".
	Actor string
	// OnBehalf is the person the actor did it for, when that is somebody else.
	OnBehalf string
	// Action is one of the list in actions.go.
	Action Action
	// Target is what it was done to.
	Target string
	// Outcome is "ok" or a stable code of what went wrong; empty means "ok".
	Outcome string
	// Duration is how long it took, where that means something.
	Duration time.Duration
	// Digest stands in for arguments or content, which never enter the trail.
	Digest string
	// Detail holds small facts. Values must be what JSON can say.
	Detail map[string]any
}

// Record is an entry as the trail keeps it.
type Record struct {
	Entry
	Seq  int64
	Prev Hash
	Hash Hash
}

// Hash is a link of the chain.
type Hash [32]byte

// String is 64 lower-case hex digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText writes the hex form.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads the hex form.
func (h *Hash) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(h)) {
		return fmt.Errorf("a hash has %d hex digits, not %d", hex.EncodedLen(len(h)), len(text))
	}
	_, err := hex.Decode(h[:], text)
	return err
}

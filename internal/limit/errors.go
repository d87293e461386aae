package limit

import (
	"errors"
	"fmt"
	"time"
)

// ErrTooMany says that somebody asks too often, guesses too often or holds too
// much; see Error.
var ErrTooMany = errors.New("too many attempts")

// Error says how long somebody must wait.
type Error struct {
	// RetryAfter is the time until it can succeed; never zero.
	RetryAfter time.Duration
	// Everybody is set when all callers together have used up what there is, and
	// not this one alone.
	Everybody bool
	// Locked is set when failures caused it, not mere frequency.
	Locked bool
}

func (e *Error) Error() string {
	return fmt.Sprintf("too many attempts; try again in %s", e.RetryAfter.Round(time.Millisecond))
}

// Is matches ErrTooMany.
func (e *Error) Is(target error) bool { return target == ErrTooMany }

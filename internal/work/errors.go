package work

import (
	"errors"
	"time"

	"parley.internal/protocol/viber"
)

// What can be wrong with a request. A face maps each to its code once; the
// comment names the board's.
var (
	// ErrNotFound: no such task, or somebody else's (task:error task_not_found).
	ErrNotFound = errors.New("there is no such task")
	// ErrFinished: the task has ended (task:error task_not_found, task_finished).
	ErrFinished = errors.New("the task has finished")
	// ErrConflict: the key is another task's (protocol_error/idempotency_conflict).
	ErrConflict = errors.New("this idempotency key belongs to another request")
	// ErrBadCursor: after is beyond the last event (protocol_error/bad_cursor).
	ErrBadCursor = errors.New("the task has not come that far")
	// ErrNoApproval: no such question, or somebody else's (protocol_error/approval_not_found).
	ErrNoApproval = errors.New("there is no such approval")
	// ErrForbidden: the caller may see the question but not answer it (auth_failed/insufficient_scope).
	ErrForbidden = errors.New("not allowed to answer")
	// ErrNoArtifact: the task has no such file.
	ErrNoArtifact = errors.New("there is no such artifact")
	// ErrShuttingDown: the hub is stopping (internal_error/shutting_down).
	ErrShuttingDown = errors.New("the hub is stopping; try again in a moment")
	// ErrUnavailable: the task is changing its owner; try again (internal_error).
	ErrUnavailable = errors.New("the task is not available right now; try again")
	// ErrLagged: a reader fell too far behind (rate_limited/slow_consumer); resume by seq.
	ErrLagged = errors.New("reading too slowly")
)

// LimitError says that there is too much of something (rate_limited): too_many_tasks,
// queue_full, or no reason when submits come too fast.
type LimitError struct {
	Reason     viber.Reason
	Message    string
	RetryAfter time.Duration
}

// Error is the text for people.
func (e *LimitError) Error() string { return e.Message }

// RefusedError is a submit that was refused with a task:error of its own: the
// budget is spent. No task exists and the key is unused.
type RefusedError struct{ Event *viber.TaskError }

// Error is the text for people.
func (e *RefusedError) Error() string { return e.Event.Error.Message }

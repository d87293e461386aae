package work

import (
	"context"
	"io"
	"iter"
	"slices"
	"time"

	"parley.internal/internal/approval"
	"parley.internal/internal/identity"
	"parley.internal/protocol/viber"
)

// API is all a face needs. *Work is one; tests of faces may bring their own.
type API interface {
	// Submit hands over a goal. What it accepted is durable when it returns.
	Submit(ctx context.Context, who identity.Actor, req SubmitRequest) (*Submission, error)
	// Stop ends a running task and returns once its end is on disk. On a task that
	// was stopped before it returns that end, with Again set; on one that ended
	// otherwise, ErrFinished.
	Stop(ctx context.Context, who identity.Actor, task, reason string) (Stopped, error)
	// Message says something to a running task. It is durable when Message returns.
	Message(ctx context.Context, who identity.Actor, req MessageRequest) (*viber.TaskMessageAck, error)

	// List gives the caller's tasks, newest first; an admin's, everybody's.
	List(ctx context.Context, who identity.Actor, q viber.TaskList) (*viber.TaskListResponse, error)
	// Snapshot is a task as it is now.
	Snapshot(ctx context.Context, who identity.Actor, task string) (*viber.TaskSnapshot, error)
	// Follow gives a snapshot, every event after the given one, then live: none
	// twice, none missing. Finished tasks can be followed too.
	Follow(ctx context.Context, who identity.Actor, task string, after int64) (*Stream, error)
	// Events gives what is logged after an event, and ends.
	Events(ctx context.Context, who identity.Actor, task string, after int64) iter.Seq2[viber.TaskEvent, error]
	// Desk opens what one connection of a person is shown: what waits first, then
	// whatever happens, in one order. begin is called before anything is shown, when
	// nothing is missed any more. The caller closes the desk.
	Desk(ctx context.Context, person string, screen Screen, begin func()) (*Desk, error)
	// Running names the caller's tasks that have not ended, oldest first.
	Running(ctx context.Context, who identity.Actor) ([]string, error)

	// Approvals lists what waits for the caller, oldest first, of tasks and of
	// everything else (TaskID is empty then). TimeoutMS is what is left.
	Approvals(ctx context.Context, who identity.Actor) ([]viber.ApprovalRequired, error)
	// Answer decides a question, unless something did before.
	Answer(ctx context.Context, who identity.Actor, r *viber.ApprovalResponse) (Answered, error)

	// Artifact opens a file of a task's artifacts; the caller closes it.
	Artifact(ctx context.Context, who identity.Actor, task, name string) (*ArtifactFile, error)

	Stats() Stats
}

// SubmitRequest is a goal and how it came.
type SubmitRequest struct {
	// Key is the idempotency key, never empty: viber.TaskSubmit.Key.
	Key    string
	Submit *viber.TaskSubmit
	// Origin is the connection of a board that submits; empty for everything else.
	Origin string
}

// Submission is an accepted submit; exactly one of Stream (perhaps with Running)
// and Replay is set.
type Submission struct {
	TaskID string
	// Stream are the events: of a new task from the first on, of a running one
	// after the present.
	Stream *Stream
	// Running says that the key was in progress already; nothing was started.
	Running bool
	// Replay is how an earlier task of the key began and ended; nothing was started.
	Replay []viber.TaskEvent
}

// Stopped is the answer to a stop.
type Stopped struct {
	Event *viber.TaskStopped
	// Again says that the task was stopped before.
	Again bool
}

// MessageRequest is something said to a running task.
type MessageRequest struct {
	Task    string
	Message viber.ChatMessage
	Mode    viber.InjectionMode
	// RequestID makes a repeat harmless: within five minutes the same id of the
	// same person gets the first answer again. Empty is never a repeat.
	RequestID string
}

// Stream is a task as somebody follows it.
type Stream struct {
	TaskID string
	// Snapshot is the task when the stream was made; nil for a task just submitted.
	Snapshot *viber.TaskSnapshot

	principal string
	events    func(ctx context.Context) iter.Seq2[viber.TaskEvent, error]
}

// Events yields the events with their seq and turn until the task's end, which is
// the last, or until ctx ends. It may be called once.
func (s *Stream) Events(ctx context.Context) iter.Seq2[viber.TaskEvent, error] { return s.events(ctx) }

// Answered is the answer to an answer.
type Answered struct {
	// First says that this answer decided. What was decided comes as an event of
	// the task, or as a notice.
	First bool
	// Missing is how many more people must agree; then nothing is decided yet.
	Missing int
	// Resolved is what is recorded; its Seq is 0 if the task has not heard of it
	// yet. Nil while people are missing.
	Resolved *viber.ApprovalResolved
	// Required is the question, with what is left of its time, while it waits.
	Required *viber.ApprovalRequired

	item approval.Item
	// orphan says that its task has ended and will say nothing about it.
	orphan bool
}

// shownTo tells whether the decision comes to a person's desks by itself.
func (a *Answered) shownTo(person string) bool {
	return !a.orphan && (a.item.Principal == person || slices.Contains(a.item.Policy.People, person))
}

// ArtifactFile is a file of a task.
type ArtifactFile struct {
	io.ReadSeekCloser
	Name     string
	Size     int64
	Modified time.Time
}

// Stats are figures of this hub.
type Stats struct {
	// Running counts tasks that this hub runs, Paused those of them that wait for
	// a person.
	Running, Paused int
	// Ended counts the tasks that ended here since the start.
	Ended map[viber.TaskStatus]int64
}

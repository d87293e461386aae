package rest

import (
	"time"

	"parley.internal/protocol/viber"
)

// Tasks: handing them over, what they are doing, what happened, what they made. Payloads are
// those of the board protocol.
var (
	ListTasks    = Get[TaskQuery, viber.TaskListResponse]("/api/tasks", "List tasks, newest first; query: status, limit, cursor")
	GetTask      = Get[ByID, viber.TaskSnapshot]("/api/tasks/{id}", "A task as it is now")
	TaskEvents   = Get[TaskEventQuery, None]("/api/tasks/{id}/events", "What was logged of a task, as JSON lines; query: after").As("application/jsonl")
	TaskArtifact = Get[ArtifactName, None]("/api/tasks/{id}/artifacts/{name...}", "A file the task made").As("application/octet-stream")
	SubmitTask   = Post[viber.TaskSubmit, viber.TaskSnapshot]("/api/tasks", "Hand over a goal, as the payload of task:submit; the same idempotency_key never starts a second task")
	MessageTask  = Post[TaskMessage, viber.TaskMessageAck]("/api/tasks/{id}/messages", "Say something to a running task, as the payload of task:message; query: request_id")
	StopTask     = Post[TaskStop, viber.TaskSnapshot]("/api/tasks/{id}/stop", "Stop a task, as the payload of task:stop; what it did is kept")
)

// Terminals and what they printed.
var (
	ListTerminals  = Get[None, Terminals]("/api/terminals", "Your terminals, oldest first, as terminal:list_response")
	ListRecordings = Get[None, Recordings]("/api/recordings", "Recordings of your terminals, newest first")
	GetRecording   = Get[ByID, None]("/api/terminals/{id}/recording", "What a terminal printed, as an asciicast (version 2)").As("application/x-asciicast")
)

// TaskQuery chooses tasks.
type TaskQuery struct {
	Status string `query:"status" enum:"running,paused,completed,failed,stopped"`
	Limit  int    `query:"limit" minimum:"1" maximum:"200"`
	Cursor string `query:"cursor"`
}

// TaskEventQuery chooses events.
type TaskEventQuery struct {
	ID    string `path:"id"`
	After int64  `query:"after" minimum:"0"`
}

// ArtifactName names a file that a task made.
type ArtifactName struct {
	ID   string `path:"id"`
	Name string `path:"name"`
}

// TaskMessage is for the task in the path, whatever the body says.
type TaskMessage struct {
	ID        string `path:"id"`
	RequestID string `query:"request_id"`
	Body      viber.TaskMessage
}

// TaskStop is for the task in the path, whatever the body says.
type TaskStop struct {
	ID   string `path:"id"`
	Body viber.TaskStop
}

// LoggedEvent is one line of a task's log: an envelope without id, which only frames have.
type LoggedEvent struct {
	Type      viber.Type      `json:"type"`
	Timestamp viber.Time      `json:"timestamp"` // when it happened
	Payload   viber.TaskEvent `json:"payload"`
}

// Terminals is a list of them.
type Terminals struct {
	Terminals []viber.Terminal `json:"terminals"`
}

// Recording is what a terminal printed.
type Recording struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Command string    `json:"command,omitempty"`
	Task    string    `json:"task_id,omitempty"`
	Began   time.Time `json:"began_at"`
	Bytes   int64     `json:"bytes"`
}

// Recordings is a list of them.
type Recordings struct {
	Recordings []Recording `json:"recordings"`
}

package viber

// TaskStop ends a task.
type TaskStop struct {
	TaskID string `json:"task_id"`
	Reason string `json:"reason,omitzero"`
}

// TaskResume follows a task, beginning after an event one has seen.
type TaskResume struct {
	TaskID   string `json:"task_id"`
	AfterSeq int64  `json:"after_seq,omitzero"`
}

// TaskUnsubscribe stops following a task.
type TaskUnsubscribe struct {
	TaskID string `json:"task_id"`
}

// TaskStatus is where a task is in its life.
type TaskStatus string

// The states of a task.
const (
	TaskRunning  TaskStatus = "running"
	TaskPaused   TaskStatus = "paused"
	TaskDone     TaskStatus = "completed"
	TaskFailed   TaskStatus = "failed"
	TaskHalted   TaskStatus = "stopped"
	anyTaskState TaskStatus = ""
)

// Ended reports whether the task is over.
func (s TaskStatus) Ended() bool { return s == TaskDone || s == TaskFailed || s == TaskHalted }

func (s TaskStatus) known() bool {
	return s.Ended() || s == TaskRunning || s == TaskPaused || s == anyTaskState
}

// TaskSnapshot is a task as it is now.
type TaskSnapshot struct {
	TaskID           string             `json:"task_id"`
	Status           TaskStatus         `json:"status"`
	Goal             string             `json:"goal"`
	IdempotencyKey   string             `json:"idempotency_key"`
	StartedAt        Time               `json:"started_at"`
	EndedAt          Time               `json:"ended_at,omitzero"`
	Error            *ErrorInfo         `json:"error,omitzero"` // why a task failed
	Agent            string             `json:"agent"`
	LastSeq          int64              `json:"last_seq"`
	OldestSeq        int64              `json:"oldest_seq"`
	Text             string             `json:"text"`
	Turn             int                `json:"turn"`
	Plan             *Plan              `json:"plan,omitzero"`
	Usage            Usage              `json:"usage"`
	PendingApprovals []ApprovalRequired `json:"pending_approvals"`
	QueuedMessages   []QueuedMessage    `json:"queued_messages"`
	// Gap says that events the client asked for are gone; Text is right all the same.
	Gap bool `json:"gap"`
}

// TaskList asks for tasks, newest first.
type TaskList struct {
	Status TaskStatus `json:"status,omitzero"`
	Limit  int        `json:"limit,omitzero"`
	Cursor string     `json:"cursor,omitzero"`
}

// TaskListResponse is a page of tasks.
type TaskListResponse struct {
	Tasks      []TaskSummary `json:"tasks"`
	NextCursor string        `json:"next_cursor,omitzero"`
}

// TaskSummary is a task in a listing.
type TaskSummary struct {
	TaskID    string     `json:"task_id"`
	Goal      string     `json:"goal"`
	Status    TaskStatus `json:"status"`
	Agent     string     `json:"agent"`
	StartedAt Time       `json:"started_at"`
	EndedAt   Time       `json:"ended_at,omitzero"`
	LastSeq   int64      `json:"last_seq"`
	// PendingApprovals is how many questions of the task wait for a person.
	PendingApprovals int `json:"pending_approvals"`
}

func needTask(id string) *Violation {
	if id == "" {
		return violation(ReasonBadPayload, "/task_id", "task_id is missing")
	}
	return nil
}

func (s *TaskStop) check() *Violation        { return needTask(s.TaskID) }
func (u *TaskUnsubscribe) check() *Violation { return needTask(u.TaskID) }

func (r *TaskResume) check() *Violation {
	if r.AfterSeq < 0 {
		return violation(ReasonBadCursor, "/after_seq", "after_seq is not negative")
	}
	return needTask(r.TaskID)
}

func (l *TaskList) check() *Violation {
	if !l.Status.known() {
		return violation(ReasonBadPayload, "/status", "status is running, paused, completed, failed or stopped")
	}
	if l.Limit < 0 || l.Limit > MaxListLimit {
		return violation(ReasonBadPayload, "/limit", "limit is between 1 and %d", MaxListLimit)
	}
	if l.Limit == 0 {
		l.Limit = DefaultListLimit
	}
	return nil
}

// Type names the message.
func (*TaskStop) Type() Type { return TypeTaskStop }

// Type names the message.
func (*TaskResume) Type() Type { return TypeTaskResume }

// Type names the message.
func (*TaskUnsubscribe) Type() Type { return TypeTaskUnsubscribe }

// Type names the message.
func (*TaskSnapshot) Type() Type { return TypeTaskSnapshot }

// Type names the message.
func (*TaskList) Type() Type { return TypeTaskList }

// Type names the message.
func (*TaskListResponse) Type() Type { return TypeTaskListResponse }

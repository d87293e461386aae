package viber

import "time"

// NewError makes a connection:error.
func NewError(code Code, reason Reason, message string) *ConnectionError {
	return &ConnectionError{Code: code, Message: message, Details: &Details{Reason: reason}}
}

// NewRateLimited makes the refusal of somebody who is too fast. It names at least
// one millisecond, so that a client that obeys does wait.
func NewRateLimited(reason Reason, message string, wait time.Duration) *ConnectionError {
	e := NewError(CodeRateLimited, reason, message)
	e.RetryAfterMS = max(1, (wait + time.Millisecond - 1).Milliseconds())
	return e
}

// NewInsufficientScope makes the refusal of a request the connection may not make.
func NewInsufficientScope(required Scope, granted []string) *ConnectionError {
	e := NewError(CodeAuthFailed, ReasonInsufficientScope, "this connection was not granted "+string(required))
	if granted == nil {
		granted = []string{}
	}
	e.Details.Required, e.Details.Granted = []string{string(required)}, granted
	return e
}

// NewTaskNotFound makes the answer about a task that is unknown or somebody
// else's: nobody can tell the two apart.
func NewTaskNotFound(id string) *TaskError {
	return requestError(id, ErrorInfo{Type: CodeTaskNotFound, Message: "there is no such task"})
}

// NewTaskFinished makes the answer to a request that came too late.
func NewTaskFinished(id string) *TaskError {
	e := requestError(id, ErrorInfo{
		Type: CodeTaskNotFound, Message: "the task has finished",
		Suggestion: "submit a new task; the finished one's text can go into its messages",
	})
	e.Details = &Details{Reason: ReasonTaskFinished}
	return e
}

// NewAlreadyRunning makes the answer to a submit whose key is in progress.
func NewAlreadyRunning(id, key string) *TaskError {
	e := requestError(id, ErrorInfo{
		Type: CodeAlreadyRunning, Message: "a task with this idempotency key is in progress", Recoverable: true,
	})
	e.IdempotencyKey = key
	return e
}

// requestError is about a request and ends nothing.
func requestError(id string, info ErrorInfo) *TaskError {
	final := false
	return &TaskError{TaskRef: TaskRef{TaskID: id}, Error: info, Final: &final}
}

// NewTaskFailure makes the last event of a task that failed with text so far.
func NewTaskFailure(id string, info ErrorInfo, text string, usage Usage) *TaskError {
	final := true
	return &TaskError{
		TaskRef: TaskRef{TaskID: id}, Error: info, Final: &final,
		PartialResult: &PartialResult{Text: text}, Usage: &usage,
	}
}

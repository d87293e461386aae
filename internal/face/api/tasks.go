package api

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"

	jsonx "github.com/go-json-experiment/json"

	"parley.internal/internal/face/front"
	"parley.internal/internal/identity"
	"parley.internal/internal/work"
	"parley.internal/protocol/rest"
	"parley.internal/protocol/viber"
)

// RegisterTasks adds tasks: handing them over, what they are doing, what happened, what they made.
func RegisterTasks(a *API, tasks work.API) {
	tr := taskRoutes{tasks}
	at := func(scope string) access { return access{Scope: scope, Tag: "tasks", MaxBody: viber.MaxFrame} }
	read, control := at(identity.TaskRead), at(identity.TaskControl)
	addRaw(a, read, rest.ListTasks, inTasks(tr.list))
	addRaw(a, read, rest.GetTask, inTasks(tr.snapshot))
	addRaw(a, read, rest.TaskEvents, inTasks(tr.events))
	addRaw(a, read, rest.TaskArtifact, inTasks(tr.artifact))
	addRaw(a, at(identity.TaskSubmit), rest.SubmitTask, inTasks(tr.submit))
	addRaw(a, control, rest.MessageTask, inTasks(tr.message))
	addRaw(a, control, rest.StopTask, inTasks(tr.stop))
}

// inTasks makes of what tasks refuse what HTTP says.
func inTasks(handle writer) writer {
	return func(w http.ResponseWriter, r *http.Request, who identity.Actor) error {
		return taskProblem(handle(w, r, who))
	}
}

type taskRoutes struct{ tasks work.API }

// taskErrors are the HTTP answers to what tasks refuse.
var taskErrors = []front.Mapping{
	{Is: work.ErrNotFound, Status: http.StatusNotFound, Code: "not_found", Detail: "there is no such task"},
	{Is: work.ErrNoArtifact, Status: http.StatusNotFound, Code: "not_found", Detail: "there is no such artifact"},
	{Is: work.ErrFinished, Status: http.StatusConflict, Code: "task_finished"},
	{Is: work.ErrConflict, Status: http.StatusConflict, Code: string(viber.ReasonIdempotencyConflict)},
	{Is: work.ErrBadCursor, Status: http.StatusBadRequest, Code: string(viber.ReasonBadCursor)},
	{Is: work.ErrShuttingDown, Status: http.StatusServiceUnavailable, Code: "shutting_down"},
	{Is: work.ErrUnavailable, Status: http.StatusServiceUnavailable, Code: "unavailable"},
}

func taskProblem(err error) error {
	if v, ok := errors.AsType[*viber.Violation](err); ok {
		return front.NewProblem(http.StatusBadRequest, string(v.Reason), v.Message, nil)
	}
	if l, ok := errors.AsType[*work.LimitError](err); ok {
		p := front.NewProblem(http.StatusTooManyRequests, cmp.Or(string(l.Reason), "rate_limited"), l.Message, nil)
		p.RetryAfter = l.RetryAfter
		return p
	}
	if r, ok := errors.AsType[*work.RefusedError](err); ok {
		return front.NewProblem(http.StatusForbidden, string(r.Event.Error.Type), r.Event.Error.Message, nil)
	}
	for _, m := range taskErrors {
		if errors.Is(err, m.Is) {
			detail := m.Detail
			if detail == "" {
				detail = m.Is.Error()
			}
			return front.NewProblem(m.Status, m.Code, detail, nil)
		}
	}
	return err
}

// wireJSON writes a payload of the board protocol.
func wireJSON(w http.ResponseWriter, status int, v any) error {
	data, err := jsonx.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // the client left
	return nil
}

func (tr taskRoutes) list(w http.ResponseWriter, r *http.Request, who identity.Actor) error {
	q := viber.TaskList{Status: viber.TaskStatus(r.URL.Query().Get("status")), Cursor: r.URL.Query().Get("cursor")}
	switch q.Status {
	case "", viber.TaskRunning, viber.TaskPaused, viber.TaskDone, viber.TaskFailed, viber.TaskHalted:
	default:
		return badQuery("status is running, paused, completed, failed or stopped")
	}
	if text := r.URL.Query().Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > viber.MaxListLimit {
			return badQuery("limit is between 1 and " + strconv.Itoa(viber.MaxListLimit))
		}
		q.Limit = n
	}
	list, err := tr.tasks.List(r.Context(), who, q)
	if err != nil {
		return err
	}
	return wireJSON(w, http.StatusOK, list)
}

func badQuery(text string) error {
	return front.NewProblem(http.StatusBadRequest, "bad_request", text, nil)
}

func (tr taskRoutes) snapshot(w http.ResponseWriter, r *http.Request, who identity.Actor) error {
	snap, err := tr.tasks.Snapshot(r.Context(), who, r.PathValue("id"))
	if err != nil {
		return err
	}
	return wireJSON(w, http.StatusOK, snap)
}

func (tr taskRoutes) events(w http.ResponseWriter, r *http.Request, who identity.Actor) error {
	after := int64(0)
	if text := r.URL.Query().Get("after"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return badQuery("after is the number of an event")
		}
		after = n
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	out := bufio.NewWriterSize(w, 32<<10)
	begun := false
	for ev, err := range tr.tasks.Events(ctx, who, r.PathValue("id"), after) {
		var line []byte
		if err == nil {
			line, err = jsonx.Marshal(rest.LoggedEvent{Type: ev.Type(), Timestamp: viber.At(ev.Ref().At), Payload: ev})
		}
		switch {
		case err != nil && !begun:
			return err
		case err != nil:
			panic(http.ErrAbortHandler) // cutting the answer is the only honest way to say so
		case !begun:
			begun = true
			head(w)
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return nil // the client left
		}
	}
	if !begun {
		head(w)
	}
	_ = out.Flush() // the client left
	return nil
}

func head(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/jsonl")
	w.Header().Set("Cache-Control", "no-store")
}

func (tr taskRoutes) artifact(w http.ResponseWriter, r *http.Request, who identity.Actor) error {
	f, err := tr.tasks.Artifact(r.Context(), who, r.PathValue("id"), r.PathValue("name"))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	h := w.Header()
	// An agent made it: nobody's browser runs it.
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", "attachment")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "sandbox")
	h.Set("Cache-Control", "no-store")
	http.ServeContent(w, r, "", f.Modified, f)
	return nil
}

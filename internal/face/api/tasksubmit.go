package api

import (
	"errors"
	"io"
	"net/http"

	jsonx "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/internal/face/front"
	"parley.internal/internal/identity"
	"parley.internal/internal/ids"
	"parley.internal/internal/work"
	"parley.internal/protocol/viber"
)

// payload reads a request's body as the payload of a board's message, by the same decoder and with
// the same refusals. The task in the path counts, whatever the body says.
func payload[T viber.Payload](r *http.Request, kind viber.Type) (body T, err error) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return body, front.NewProblem(http.StatusRequestEntityTooLarge, "too_large", "the request is too large", nil)
		}
		return body, err
	}
	fields := map[string]jsontext.Value{}
	if err := jsonx.Unmarshal(data, &fields); len(data) > 0 && err != nil {
		return body, front.NewProblem(http.StatusBadRequest, string(viber.ReasonBadPayload), "the body is not a JSON object", nil)
	}
	if id := r.PathValue("id"); id != "" {
		if fields["task_id"], err = jsontext.AppendQuote(nil, id); err != nil {
			return body, work.ErrNotFound
		}
	}
	frame, err := jsonx.Marshal(map[string]any{"type": kind, "id": ids.New(), "payload": fields})
	if err != nil {
		return body, err
	}
	m, err := viber.DecodeFromClient(frame)
	if err != nil {
		return body, err
	}
	return m.Body.(T), nil
}

// submit answers with the task as it is then: 201 for a new one, 200 for one whose key was used before.
func (tr taskRoutes) submit(w http.ResponseWriter, r *http.Request, who identity.Actor) error {
	req, err := payload[*viber.TaskSubmit](r, viber.TypeTaskSubmit)
	if err != nil {
		return err
	}
	sub, err := tr.tasks.Submit(r.Context(), who, work.SubmitRequest{Key: req.Key(ids.New()), Submit: req})
	if err != nil {
		return err
	}
	snap, err := tr.tasks.Snapshot(r.Context(), who, sub.TaskID)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if sub.Stream != nil && !sub.Running {
		status = http.StatusCreated
	}
	return wireJSON(w, status, snap)
}

func (tr taskRoutes) message(w http.ResponseWriter, r *http.Request, who identity.Actor) error {
	m, err := payload[*viber.TaskMessage](r, viber.TypeTaskMessage)
	if err != nil {
		return err
	}
	ack, err := tr.tasks.Message(r.Context(), who, work.MessageRequest{
		Task: m.TaskID, Message: m.Message, Mode: m.InjectionMode, RequestID: r.URL.Query().Get("request_id"),
	})
	if err != nil {
		return err
	}
	return wireJSON(w, http.StatusOK, ack)
}

func (tr taskRoutes) stop(w http.ResponseWriter, r *http.Request, who identity.Actor) error {
	s, err := payload[*viber.TaskStop](r, viber.TypeTaskStop)
	if err != nil {
		return err
	}
	if _, err := tr.tasks.Stop(r.Context(), who, s.TaskID, s.Reason); err != nil {
		return err
	}
	return tr.snapshot(w, r, who)
}

package api

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"parley.internal/internal/face/front"
	"parley.internal/internal/identity"
	"parley.internal/internal/terminal"
	"parley.internal/protocol/rest"
)

// Terminals are terminals and what they printed, on whatever hub.
type Terminals interface {
	terminal.API
	Recordings(ctx context.Context, who identity.Actor) ([]terminal.Recording, error)
	Recording(ctx context.Context, who identity.Actor, id string) (terminal.Recording, io.ReadSeekCloser, error)
}

// RegisterTerminals adds the list of terminals and their recordings.
func RegisterTerminals(a *API, terminals Terminals) {
	t := terminalRoutes{terminals}
	see := access{Scope: identity.TerminalRead, Tag: "terminals"}
	addRaw(a, see, rest.ListTerminals, t.list)
	add(a, see, rest.ListRecordings, t.recorded)
	addRaw(a, see, rest.GetRecording, t.recording)
}

type terminalRoutes struct{ terminals Terminals }

// list is written as the board writes it, so that both look the same.
func (t terminalRoutes) list(w http.ResponseWriter, r *http.Request, who identity.Actor) error {
	list, err := t.terminals.List(r.Context(), who)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	return json.MarshalWrite(w, rest.Terminals{Terminals: list})
}

func (t terminalRoutes) recorded(ctx context.Context, who identity.Actor, _ *rest.None) (rest.Recordings, error) {
	list, err := t.terminals.Recordings(ctx, who)
	return rest.Recordings{Recordings: each(list, func(r terminal.Recording) rest.Recording {
		return rest.Recording{ID: r.ID, Name: r.Name, Command: r.Command, Task: r.Task, Began: r.Began, Bytes: r.Bytes}
	})}, err
}

func (t terminalRoutes) recording(w http.ResponseWriter, r *http.Request, who identity.Actor) error {
	rec, file, err := t.terminals.Recording(r.Context(), who, r.PathValue("id"))
	if err != nil {
		return front.NewProblem(http.StatusNotFound, "not_found", "this terminal was not recorded, or the recording is gone, or its hub is", err)
	}
	defer func() { _ = file.Close() }()
	w.Header().Set("Content-Type", "application/x-asciicast")
	w.Header().Set("Content-Disposition", `inline; filename="terminal-`+rec.ID+`.cast"`)
	w.Header().Set("Cache-Control", "no-store")
	http.ServeContent(w, r, "", time.Time{}, file)
	return nil
}

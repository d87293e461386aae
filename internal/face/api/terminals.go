package api

import (
	"context"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"parley/internal/face/front"
	"parley/internal/identity"
	"parley/internal/terminal"
)

// RegisterTerminals adds the list of terminals and their recordings.
func RegisterTerminals(a *API, terminals terminal.API, recordings *terminal.Recordings) {
	t := terminalRoutes{terminals, recordings}
	addRaw(a, rawRoute{route{Method: "GET", Path: "/api/terminals", Scope: identity.TerminalRead, Tag: "terminals", Summary: "Your terminals, oldest first, as terminal:list_response"}, "application/json"}, t.list)
	add(a, route{Method: "GET", Path: "/api/recordings", Scope: identity.TerminalRead, Tag: "terminals", Summary: "Recordings of terminals of this hub, newest first"}, t.recorded)
	addRaw(a, rawRoute{route{Method: "GET", Path: "/api/terminals/{id}/recording", Scope: identity.TerminalRead, Tag: "terminals", Summary: "What a terminal printed, as an asciicast (version 2)"}, "application/x-asciicast"}, t.recording)
}

type terminalRoutes struct {
	terminals  terminal.API
	recordings *terminal.Recordings
}

func terminalWho(s identity.Session) terminal.Who {
	return terminal.Who{
		Principal: s.Principal.ID, Admin: s.Admin(), Actor: s.Principal.String(), Token: s.TokenID, Device: s.Device, Address: s.Address,
	}
}

// list is written as the board writes it, so that both look the same.
func (t terminalRoutes) list(w http.ResponseWriter, r *http.Request, who identity.Session) error {
	list, err := t.terminals.List(r.Context(), terminalWho(who))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	return json.MarshalWrite(w, map[string]any{"terminals": list})
}

type recordingList struct {
	Body struct {
		Recordings []terminal.Recording `json:"recordings"`
	}
}

func (t terminalRoutes) recorded(_ context.Context, who identity.Session, _ *struct{}) (*recordingList, error) {
	list, err := t.recordings.List(terminalWho(who))
	if err != nil {
		return nil, err
	}
	out := &recordingList{}
	out.Body.Recordings = list
	return out, nil
}

func (t terminalRoutes) recording(w http.ResponseWriter, r *http.Request, who identity.Session) error {
	rec, file, err := t.recordings.Open(terminalWho(who), r.PathValue("id"))
	if err != nil {
		return front.NewProblem(http.StatusNotFound, "not_found", "this terminal was not recorded here, or the recording is gone", err)
	}
	defer func() { _ = file.Close() }()
	w.Header().Set("Content-Type", "application/x-asciicast")
	w.Header().Set("Content-Disposition", `inline; filename="terminal-`+rec.ID+`.cast"`)
	w.Header().Set("Cache-Control", "no-store")
	http.ServeContent(w, r, "", time.Time{}, file)
	return nil
}

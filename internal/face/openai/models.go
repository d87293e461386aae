package openai

import (
	"encoding/json"
	"net/http"

	"parley.internal/internal/brain"
	"parley.internal/internal/face/front"
	"parley.internal/internal/identity"
	"parley.internal/internal/talk"
)

// modelEntry is an agent as clients list it.
type modelEntry struct {
	ID          string `json:"id"`
	Object      string `json:"object"`
	Created     int64  `json:"created"`
	OwnedBy     string `json:"owned_by"`
	Description string `json:"description,omitempty"`
}

func entryOf(a *brain.Agent) modelEntry {
	return modelEntry{ID: a.Name, Object: "model", OwnedBy: "parley", Description: a.Description}
}

// models lists the agents that talk with the caller.
func (f *Face) models(w http.ResponseWriter, r *http.Request) {
	who, _ := front.Admitted(r.Context())
	list := []modelEntry{}
	for _, e := range f.d.Agents.List() {
		if talksWith(e.Agent, who) {
			list = append(list, entryOf(e.Agent))
		}
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": list})
}

func (f *Face) model(w http.ResponseWriter, r *http.Request) {
	who, _ := front.Admitted(r.Context())
	a, err := f.d.Agents.Get(r.PathValue("model"))
	if err == nil && !talksWith(a, who) {
		err = talk.ErrNoAgent
	}
	if err != nil {
		f.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, entryOf(a))
}

func talksWith(a *brain.Agent, who identity.Actor) bool {
	return a != nil && a.AllowsSender(who.Sender())
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // a client that has left does not read it
}

package openai

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"time"

	"parley.internal/internal/brain"
	"parley.internal/internal/defaults"
	"parley.internal/internal/face/front"
	"parley.internal/internal/files"
	"parley.internal/internal/identity"
	"parley.internal/internal/limit"
	"parley.internal/internal/talk"
	wire "parley.internal/protocol/openai"
)

// Deps is what the face is made from.
type Deps struct {
	Talk   talk.API
	Agents *brain.Library
	Files  *files.Store
	Front  *front.Front
	Log    *slog.Logger
	Limits Limits
}

// Limits bound what clients may do; the zero value has the usual ones.
type Limits struct {
	Body  int64         // of one request (48 MiB: a history with pictures)
	Beat  time.Duration // how often a stream that waits says that it lives (15 s)
	Write time.Duration // a client may take nothing at all for this long (30 s)
	Rate  int           // requests of one person a minute (6000)
}

// Face serves the wire.
type Face struct {
	d      Deps
	states *states
}

// New makes a face.
func New(d Deps) *Face {
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	defaults.Set(&d.Limits.Body, 48<<20)
	defaults.Set(&d.Limits.Beat, 15*time.Second)
	defaults.Set(&d.Limits.Write, 30*time.Second)
	defaults.Set(&d.Limits.Rate, 6000)
	return &Face{d: d, states: newStates()}
}

// Register puts the face on its paths.
func (f *Face) Register(routes *front.Routes) {
	rate := front.Rate{Person: &limit.Window{Most: f.d.Limits.Rate}}
	route := func(pattern string, body front.Body) front.Route {
		return front.Route{Pattern: pattern, Who: front.Who(identity.Talk), Body: body, Rate: rate, Refuse: f.refuse}
	}
	spoken := front.Body{Max: f.d.Limits.Body, Drain: 1 << 20}
	routes.HandleFunc(route("GET /v1/models", front.Body{}), f.models)
	routes.HandleFunc(route("GET /v1/models/{model}", front.Body{}), f.model)
	routes.HandleFunc(route("POST /v1/chat/completions", spoken), f.chat)
	routes.HandleFunc(route("POST /v1/responses", spoken), f.responses)
	routes.HandleFunc(front.Route{Pattern: "/v1/", Who: front.Stranger, Body: front.Nothing}, f.unknown)
}

func (f *Face) unknown(w http.ResponseWriter, r *http.Request) {
	f.fail(w, r, wire.NewError(http.StatusNotFound, "unknown_url", fmt.Sprintf("there is no %s %s here; docs/clients.md lists what there is", r.Method, r.URL.Path)))
}

// refuse answers whom the hub does not let in.
func (f *Face) refuse(w http.ResponseWriter, r *http.Request, err error) { f.fail(w, r, err) }

// fail answers with a refusal in the wire's shape.
func (f *Face) fail(w http.ResponseWriter, r *http.Request, err error) {
	e, headers := f.refusal(err)
	if e.Status >= http.StatusInternalServerError && e.Code == internalError {
		f.d.Log.ErrorContext(r.Context(), "request failed", "request_id", front.RequestID(r.Context()), "path", r.URL.Path, "error", err)
	}
	maps.Copy(w.Header(), headers)
	w.Header().Set("Cache-Control", "no-store")
	writeJSON(w, e.Status, wire.Envelope{Error: e})
}

const internalError = "internal_error"

// refusal is what a client sees of an error: the hub's own table has its status and code.
func (f *Face) refusal(err error) (*wire.Error, http.Header) {
	if e, ok := errors.AsType[*wire.Error](err); ok {
		return e, nil
	}
	p := f.d.Front.Problem(err)
	e := wire.NewError(p.Status, p.Code, p.Detail)
	headers := p.GetHeaders()
	switch {
	case errors.Is(err, talk.ErrNoAgent), errors.Is(err, brain.ErrNoAgent):
		e.Code, e.Param = "model_not_found", "model"
	case p.Status == http.StatusUnauthorized:
		e.Code = "invalid_api_key"
		e.Message = "this is no valid token of this hub: make one with parley token create --name NAME --scopes talk, and send it as API key"
	case errors.Is(err, talk.ErrBudget):
		e.Type, e.Code = "insufficient_quota", "insufficient_quota"
		headers.Set("X-Should-Retry", "false") // it is spent; asking again costs nothing and gives nothing
	}
	return e, headers
}

package front

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"parley.internal/internal/approval"
	"parley.internal/internal/audit"
	"parley.internal/internal/brain"
	"parley.internal/internal/identity"
	"parley.internal/internal/judge/rule"
	"parley.internal/internal/judge/speak"
	"parley.internal/internal/limit"
	"parley.internal/internal/skill"
	"parley.internal/internal/talk"
	"parley.internal/internal/talk/memory"
	"parley.internal/internal/witness"
	"parley.internal/protocol/agentfirst"
	"parley.internal/protocol/mmp"
)

// Problem is an RFC 9457 problem document with a stable code, and the same once
// more in the shape simple clients expect.
type Problem struct {
	// OK is false, for clients that look at nothing else.
	OK        bool    `json:"ok"`
	Type      string  `json:"type"`
	Title     string  `json:"title"`
	Status    int     `json:"status"`
	Detail    string  `json:"detail"`
	Code      string  `json:"code"`
	Err       Summary `json:"error"`
	RequestID string  `json:"request_id,omitempty"`
	// RetryAfter becomes the header of that name.
	RetryAfter time.Duration `json:"-"`
	cause      error
}

// Summary is the short form of a problem.
type Summary struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// NewProblem makes a problem that wraps its cause. The cause goes to the log,
// never to the client.
func NewProblem(status int, code, detail string, cause error) *Problem {
	return &Problem{
		Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Code: code,
		Err: Summary{Code: code, Message: detail}, cause: cause,
	}
}

// Error reads "code: detail".
func (p *Problem) Error() string { return p.Code + ": " + p.Detail }

// Unwrap gives the cause.
func (p *Problem) Unwrap() error { return p.cause }

// GetStatus lets the REST library send the problem with its status.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType is that of problem documents.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// GetHeaders carries Retry-After.
func (p *Problem) GetHeaders() http.Header {
	h := http.Header{}
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int((p.RetryAfter+time.Second-1)/time.Second)))
	}
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="parley"`)
	}
	return h
}

// Mapping is one row of the table from our errors to what a client sees.
type Mapping struct {
	Is     error
	Status int
	Code   string
	Detail string // empty: the error's own text
}

// mappings is about the domain packages; what faces may not know of (the store)
// is added by the hub.
var mappings = []Mapping{
	{identity.ErrRefused, http.StatusUnauthorized, "unauthorized", "sign in, or send a valid token"},
	{ErrSlow, http.StatusRequestTimeout, "timeout", "the request came too slowly"},
	{identity.ErrForbidden, http.StatusForbidden, "forbidden", ""},
	{identity.ErrNotFound, http.StatusNotFound, "not_found", "there is no such thing"},
	{identity.ErrInvalid, http.StatusBadRequest, "invalid", ""},
	{identity.ErrNameTaken, http.StatusConflict, "conflict", ""},
	{identity.ErrDeviceTaken, http.StatusConflict, "conflict", ""},
	{audit.ErrNoCut, http.StatusConflict, "no_cut", ""},
	{audit.ErrInvalid, http.StatusBadRequest, "invalid", ""},
	{witness.ErrInvalid, http.StatusBadRequest, "invalid", ""},
	{witness.ErrFull, http.StatusInsufficientStorage, "full", ""},
	{approval.ErrNotFound, http.StatusNotFound, "not_found", "there is no such approval, or another person was asked"},
	{approval.ErrForbidden, http.StatusForbidden, "forbidden", ""},
	{approval.ErrInvalid, http.StatusBadRequest, "invalid", ""},
	{rule.ErrNotFound, http.StatusNotFound, "not_found", ""},
	{rule.ErrForbidden, http.StatusForbidden, "forbidden", ""},
	{rule.ErrInvalid, http.StatusBadRequest, "bad_rule", ""},
	{skill.ErrNotFound, http.StatusNotFound, "not_found", "there is no such skill, exchange or thread"},
	{skill.ErrNoAgent, http.StatusNotFound, "not_found", ""},
	{speak.ErrDenied, http.StatusForbidden, "denied", ""},
	{skill.ErrNotPublic, http.StatusConflict, "not_public", "this skill is not public: its head must say public: true"},
	{skill.ErrState, http.StatusConflict, "conflict", "it is past that"},
	{skill.ErrNotShared, http.StatusConflict, "not_supported", ""},
	{skill.ErrInvalid, http.StatusBadRequest, "invalid", ""},
	{talk.ErrForbidden, http.StatusForbidden, "forbidden", ""},
	{talk.ErrBadRequest, http.StatusBadRequest, "invalid", ""},
	{agentfirst.ErrEmptyFile, http.StatusBadRequest, "invalid", ""},
	{agentfirst.ErrBadName, http.StatusBadRequest, "invalid", ""},
	{agentfirst.ErrBadMeta, http.StatusBadRequest, "invalid", ""},
	{brain.ErrAgentName, http.StatusBadRequest, "invalid", ""},
	{brain.ErrAgentConfig, http.StatusBadRequest, "invalid", ""},
	{brain.ErrBadProvider, http.StatusBadRequest, "invalid", ""},
	{talk.ErrNoAgent, http.StatusNotFound, "agent_not_found", ""},
	{brain.ErrNoAgent, http.StatusNotFound, "agent_not_found", ""},
	{talk.ErrNotFound, http.StatusNotFound, "not_found", "there is no such conversation"},
	{talk.ErrNoArchive, http.StatusNotFound, "not_found", "there is no such archive"},
	{memory.ErrNoGrant, http.StatusNotFound, "not_found", ""},
	{talk.ErrNothing, http.StatusConflict, "nothing_to_compact", ""},
	{talk.ErrExists, http.StatusConflict, "conflict", ""},
	{talk.ErrBusy, http.StatusConflict, "busy", ""},
	{talk.ErrNoCall, http.StatusConflict, "no_call", ""},
	{brain.ErrAgentExists, http.StatusConflict, "conflict", ""},
	{talk.ErrTooLarge, http.StatusRequestEntityTooLarge, "too_large", ""},
	{talk.ErrQueueFull, http.StatusTooManyRequests, "queue_full", ""},
	{talk.ErrBudget, http.StatusTooManyRequests, "budget_spent", ""},
	{brain.ErrNoPrice, http.StatusConflict, "no_price", ""},
	{talk.ErrSummary, http.StatusBadGateway, "model_failed", ""},
	{talk.ErrUnavailable, http.StatusServiceUnavailable, "unavailable", ""},
	{context.DeadlineExceeded, http.StatusGatewayTimeout, "timeout", "that took too long"},
}

// Problem turns any error into what a client may see.
func (f *Front) Problem(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return NewProblem(http.StatusRequestEntityTooLarge, "too_large", "the request is too large", err)
	}
	if e, ok := errors.AsType[*limit.Error](err); ok {
		return tooMany(e)
	}
	if e, ok := errors.AsType[mmp.Error](err); ok { // the place's refusals say all themselves
		return NewProblem(e.Status, e.Code, e.Text, err)
	}
	for _, m := range slices.Concat(mappings, f.more) {
		if !errors.Is(err, m.Is) {
			continue
		}
		detail := m.Detail
		if detail == "" {
			detail = err.Error()
		}
		return NewProblem(m.Status, m.Code, detail, err)
	}
	return NewProblem(http.StatusInternalServerError, "internal_error", "something went wrong in the hub; its log has the details under this request id", err)
}

// tooMany is what a client sees of a limit, with the time it must wait.
func tooMany(e *limit.Error) *Problem {
	p := NewProblem(http.StatusTooManyRequests, "rate_limited", "too many attempts or connections from this address; wait a little", e)
	if e.Everybody {
		p = NewProblem(http.StatusServiceUnavailable, "too_many_connections", "the hub has as many callers as it can take; try again", e)
	}
	p.RetryAfter = e.RetryAfter
	return p
}

// Level is how loudly the hub's log tells of a problem, if at all: what the hub
// itself failed at is an error; what somebody behind it failed at, such as a
// machine or a model, is not.
func (p *Problem) Level() (level slog.Level, logged bool) {
	switch {
	case errors.Is(p.cause, limit.ErrTooMany):
		return 0, false // whoever floods us must not flood the log
	case p.Status == http.StatusBadGateway, p.Status == http.StatusGatewayTimeout:
		return slog.LevelInfo, true
	case p.Status >= http.StatusInternalServerError:
		return slog.LevelError, true
	}
	return 0, false
}

// Fail answers with a problem document.
func (f *Front) Fail(w http.ResponseWriter, r *http.Request, err error) {
	p := *f.Problem(err)
	p.RequestID = RequestID(r.Context())
	if level, logged := p.Level(); logged {
		f.logger.Log(r.Context(), level, "request failed", "request_id", p.RequestID, "path", r.URL.Path, "error", err)
	}
	maps.Copy(w.Header(), p.GetHeaders())
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(&p)
}

// TooMany refuses a connection: this address has too many, which text says, or all
// together have.
func (f *Front) TooMany(w http.ResponseWriter, r *http.Request, why *limit.Error, text string) {
	status := http.StatusTooManyRequests
	if why.Everybody {
		status, text = http.StatusServiceUnavailable, "the hub has as many connections as it can take; try again"
	}
	p := NewProblem(status, "too_many_connections", text, why)
	p.RetryAfter = why.RetryAfter
	f.Fail(w, r, p)
}

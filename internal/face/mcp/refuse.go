package mcp

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strings"

	"parley.internal/internal/face/front"
)

// problem is what a client sees of a request that was not let in.
func (p *path) problem(err error) *front.Problem {
	if errors.Is(err, errBusy) || errors.Is(err, errTooManySessions) {
		out := front.NewProblem(http.StatusTooManyRequests, "busy", err.Error(), err)
		out.RetryAfter = retryAfter
		return out
	}
	out := *p.face.d.Front.Problem(err)
	return &out
}

// refuse answers with a problem document, and tells where a token is to be had
// and which scopes it needs.
func (p *path) refuse(w http.ResponseWriter, r *http.Request, err error) {
	out := p.problem(err)
	out.RequestID = front.RequestID(r.Context())
	if out.Status >= http.StatusInternalServerError {
		p.face.log.ErrorContext(r.Context(), "request failed", "request_id", out.RequestID, "path", r.URL.Path, "error", err)
	}
	maps.Copy(w.Header(), out.GetHeaders())
	switch out.Status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", p.challenge(r, ""))
	case http.StatusForbidden:
		w.Header().Set("WWW-Authenticate", p.challenge(r, "insufficient_scope"))
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(out.Status)
	_ = json.NewEncoder(w).Encode(out)
}

// challenge is the WWW-Authenticate header (RFC 6750, RFC 9728).
func (p *path) challenge(r *http.Request, problem string) string {
	parts := []string{`realm="parley"`}
	if problem != "" {
		parts = append(parts, `error="`+problem+`"`)
	}
	parts = append(parts, `scope="`+strings.Join(p.scopes, " ")+`"`, `resource_metadata="`+p.face.base(r)+discoveryPath+p.pattern()+`"`)
	return "Bearer " + strings.Join(parts, ", ")
}

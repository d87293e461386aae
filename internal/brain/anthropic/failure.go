package anthropic

import (
	"context"
	"encoding/json"
	"net/http"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/modelhttp"
)

// statuses are what error events inside a stream would have been as a response.
var statuses = map[string]int{
	"invalid_request_error": 400,
	"authentication_error":  401,
	"billing_error":         402,
	"permission_error":      403,
	"not_found_error":       404,
	"request_too_large":     413,
	"rate_limit_error":      429,
	"api_error":             500,
	"timeout_error":         504,
	"overloaded_error":      529,
}

// failure explains a stream that ended without its last event.
func (p *Provider) failure(ctx context.Context, w *modelhttp.Watchdog, resp *http.Response, err error, events int) *model.Error {
	switch {
	case err != nil:
		return modelhttp.Fail(p.Name(), ctx, w, err)
	case events == 0:
		return modelhttp.NoEvents(p.Name(), resp)
	default:
		return modelhttp.Cut(p.Name())
	}
}

// event is an error that the server put into the stream, or in place of it.
func (p *Provider) event(raw json.RawMessage) *model.Error {
	kind, text := modelhttp.Words(raw)
	status := statuses[kind]
	if status == 0 {
		status = http.StatusInternalServerError
	}
	return modelhttp.Status(p.Name(), p.opts.Key, status, kind, text)
}

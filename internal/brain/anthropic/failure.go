package anthropic

import (
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

// refused is an error that the server put into the stream, or in place of it.
func (p *Provider) refused(raw json.RawMessage) *model.Error {
	kind, text := modelhttp.Words(raw)
	status := statuses[kind]
	if status == 0 {
		status = http.StatusInternalServerError
	}
	return modelhttp.Status(p.Name(), p.opts.Key, status, kind, text)
}

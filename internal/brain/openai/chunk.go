package openai

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"

	sdk "github.com/openai/openai-go/v3"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/modelhttp"
)

// Read reads one chunk.
func (a *answer) Read(data []byte) ([]model.Event, bool, error) {
	if bytes.Equal(data, []byte("[DONE]")) {
		return nil, true, nil
	}
	chunk, err := modelhttp.Decode[sdk.ChatCompletionChunk](a.provider.Name(), data, a.provider.refused)
	if err != nil {
		return nil, false, err
	}
	return a.translate(chunk), false, nil
}

// Close decides whether what came is an answer. One that said why it finished is complete even if
// the connection broke before the figures.
func (a *answer) Close(over bool) ([]model.Event, error) {
	switch {
	case a.finish == "" && !over:
		return nil, nil
	case a.finish == "" && a.choices == 0:
		return nil, modelhttp.BadData(a.provider.Name(), "the answer has no choices")
	default:
		return a.done(), nil
	}
}

// statuses are what error codes inside a stream would have been as a response.
var statuses = map[string]int{
	"rate_limit_exceeded":     429,
	"rate_limit_error":        429,
	"insufficient_quota":      429,
	"invalid_api_key":         401,
	"authentication_error":    401,
	"context_length_exceeded": 400,
	"invalid_request_error":   400,
	"content_filter":          400,
	"model_not_found":         404,
}

// refused is an error the server put into the stream.
func (p *Provider) refused(raw json.RawMessage) *model.Error {
	code, text := modelhttp.Words(raw)
	status := statuses[code]
	if n, err := strconv.Atoi(code); err == nil && n >= 400 && n < 600 {
		status = n
	}
	if status == 0 {
		status = http.StatusInternalServerError
	}
	return modelhttp.Status(p.Name(), p.opts.Key, status, code, text)
}

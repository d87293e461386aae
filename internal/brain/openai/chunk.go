package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strconv"

	sdk "github.com/openai/openai-go/v3"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/modelhttp"
)

// readChunk reads one chunk.
func (p *Provider) readChunk(a *answer, data []byte) ([]model.Event, error) {
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return nil, nil
	}
	a.chunks++
	if bytes.Equal(data, []byte("[DONE]")) {
		a.ended = true
		return nil, nil
	}
	var doc struct {
		Error json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, modelhttp.BadData(p.Name(), "a piece of the answer is not JSON: "+err.Error())
	}
	if len(doc.Error) > 0 && string(doc.Error) != "null" {
		return nil, p.event(doc.Error)
	}
	var chunk sdk.ChatCompletionChunk
	if err := json.Unmarshal(data, &chunk); err != nil {
		return nil, modelhttp.BadData(p.Name(), "a piece of the answer makes no sense: "+err.Error())
	}
	return a.translate(chunk), nil
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

// event is an error the server put into the stream.
func (p *Provider) event(raw json.RawMessage) *model.Error {
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

// verdict decides whether what came is an answer. One that said why it finished
// is complete even if the connection broke before the figures.
func (p *Provider) verdict(ctx context.Context, w *modelhttp.Watchdog, resp *http.Response, a *answer, err error) *model.Error {
	switch {
	case a.finish != "":
		return nil
	case err != nil:
		return modelhttp.Fail(p.Name(), ctx, w, err)
	case a.chunks == 0:
		return modelhttp.NoEvents(p.Name(), resp)
	case a.ended && a.choices == 0:
		return modelhttp.BadData(p.Name(), "the answer has no choices")
	case a.ended:
		return nil
	default:
		return modelhttp.Cut(p.Name())
	}
}

package openai

import (
	"context"
	"encoding/json"
	"net/http"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/modelhttp"
)

// whole is a completion in one piece. Its messages have the members of a stream's deltas.
type whole struct {
	Error   json.RawMessage `json:"error,omitempty"`
	Choices []wholeChoice   `json:"choices,omitempty"`
	Usage   json.RawMessage `json:"usage,omitempty"`
}

type wholeChoice struct {
	Index   int64           `json:"index"`
	Message json.RawMessage `json:"message,omitempty"`
	Delta   json.RawMessage `json:"delta,omitempty"`
	Finish  string          `json:"finish_reason,omitempty"`
}

// readWhole reads the answer of a gateway that does not stream although it was asked to,
// or that says with a good status what went wrong.
func (p *Provider) readWhole(ctx context.Context, w *modelhttp.Watchdog, resp *http.Response, yield func(model.Event, error) bool) {
	raw, failed := modelhttp.ReadWhole(p.Name(), ctx, w, resp)
	if failed != nil {
		yield(model.Event{}, failed)
		return
	}
	var doc whole
	if err := json.Unmarshal(raw, &doc); err != nil {
		yield(model.Event{}, modelhttp.BadData(p.Name(), "the answer is not JSON: "+err.Error()))
		return
	}
	for i := range doc.Choices {
		c := &doc.Choices[i]
		c.Delta, c.Message = c.Message, nil
	}
	chunk, err := json.Marshal(doc)
	if err != nil {
		yield(model.Event{}, modelhttp.BadData(p.Name(), "the answer makes no sense: "+err.Error()))
		return
	}
	a := answer{}
	out, err := p.readChunk(&a, chunk)
	if err != nil {
		yield(model.Event{}, err)
		return
	}
	for _, ev := range out {
		if !yield(ev, nil) {
			return
		}
	}
	a.ended = true
	p.finish(ctx, w, resp, &a, nil, yield)
}

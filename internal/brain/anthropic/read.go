package anthropic

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/modelhttp"
)

// readEvent reads one event of a stream.
func (p *Provider) readEvent(a *answer, data []byte) ([]model.Event, error) {
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
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
	var ev sdk.MessageStreamEventUnion
	if err := json.Unmarshal(data, &ev); err != nil {
		return nil, modelhttp.BadData(p.Name(), "a piece of the answer makes no sense: "+err.Error())
	}
	return a.translate(ev), nil
}

// whole is a message in one piece.
type whole struct {
	Type    string            `json:"type"`
	Error   json.RawMessage   `json:"error"`
	Content []json.RawMessage `json:"content"`
	Stop    json.RawMessage   `json:"stop_reason"`
	Usage   json.RawMessage   `json:"usage"`
}

// readWhole reads the answer of a gateway that does not stream although it was asked to, or that
// says with a good status what went wrong: as the events that it would have been.
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
	if len(doc.Error) == 0 && doc.Type != "message" {
		yield(model.Event{}, modelhttp.BadData(p.Name(), "the answer is no message"))
		return
	}
	a := answer{}
	for _, event := range doc.events() {
		data, err := json.Marshal(event)
		var out []model.Event
		if err == nil {
			out, err = p.readEvent(&a, data)
		}
		if err != nil {
			yield(model.Event{}, err)
			return
		}
		for _, ev := range out {
			if !yield(ev, nil) {
				return
			}
		}
	}
	yield(a.done(), nil)
}

// events are the message as a stream would have brought it.
func (d *whole) events() []map[string]any {
	if len(d.Error) > 0 && string(d.Error) != "null" {
		return []map[string]any{{"type": "error", "error": d.Error}}
	}
	var list []map[string]any
	for i, block := range d.Content {
		list = append(list, map[string]any{"type": "content_block_start", "index": i, "content_block": block})
	}
	end := map[string]any{"type": "message_delta"}
	if len(d.Stop) > 0 {
		end["delta"] = map[string]any{"stop_reason": d.Stop}
	}
	if len(d.Usage) > 0 {
		end["usage"] = d.Usage
	}
	return append(list, end)
}

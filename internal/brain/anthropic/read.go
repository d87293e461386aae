package anthropic

import (
	"encoding/json"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/modelhttp"
)

// Read reads one event of a stream.
func (a *answer) Read(data []byte) ([]model.Event, bool, error) {
	ev, err := modelhttp.Decode[sdk.MessageStreamEventUnion](a.provider.Name(), data, a.provider.refused)
	if err != nil {
		return nil, false, err
	}
	return a.translate(ev), a.stopped, nil
}

// Close gives the last event of a message that was told to its end.
func (a *answer) Close(over bool) ([]model.Event, error) {
	if !over {
		return nil, nil
	}
	return []model.Event{a.done()}, nil
}

// whole is a message in one piece.
type whole struct {
	Type    string            `json:"type"`
	Error   json.RawMessage   `json:"error"`
	Content []json.RawMessage `json:"content"`
	Stop    json.RawMessage   `json:"stop_reason"`
	Usage   json.RawMessage   `json:"usage"`
}

// Pieces cuts a message in one piece into the events that it would have been.
func (a *answer) Pieces(raw []byte) ([][]byte, error) {
	var doc whole
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, modelhttp.BadData(a.provider.Name(), "the answer is not JSON: "+err.Error())
	}
	if len(doc.Error) == 0 && doc.Type != "message" {
		return nil, modelhttp.BadData(a.provider.Name(), "the answer is no message")
	}
	var list [][]byte
	for _, event := range doc.events() {
		data, err := json.Marshal(event)
		if err != nil {
			return nil, modelhttp.BadData(a.provider.Name(), "the answer makes no sense: "+err.Error())
		}
		list = append(list, data)
	}
	return list, nil
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

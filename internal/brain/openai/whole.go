package openai

import (
	"encoding/json"

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

// Pieces makes one chunk of a completion in one piece.
func (a *answer) Pieces(raw []byte) ([][]byte, error) {
	var doc whole
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, modelhttp.BadData(a.provider.Name(), "the answer is not JSON: "+err.Error())
	}
	for i := range doc.Choices {
		c := &doc.Choices[i]
		c.Delta, c.Message = c.Message, nil
	}
	chunk, err := json.Marshal(doc)
	if err != nil {
		return nil, modelhttp.BadData(a.provider.Name(), "the answer makes no sense: "+err.Error())
	}
	return [][]byte{chunk}, nil
}

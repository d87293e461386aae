package anthropic

import (
	"encoding/json"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"parley.internal/internal/brain/model"
)

// packed opens a signature that holds several blocks. The API's own signatures
// are base64 and never begin so.
const packed = "blocks:"

// thought is one block of reasoning, as it must go back.
type thought struct {
	Text      string `json:"t,omitempty"`
	Signature string `json:"s,omitempty"`
	Redacted  string `json:"r,omitempty"`
}

// thoughts are the reasoning blocks of one answer, in order.
type thoughts []thought

func (t *thoughts) open(text, signature string) {
	*t = append(*t, thought{Text: text, Signature: signature})
}
func (t *thoughts) redacted(data string) { *t = append(*t, thought{Redacted: data}) }

func (t thoughts) add(text string) {
	if len(t) > 0 {
		t[len(t)-1].Text += text
	}
}

func (t thoughts) sign(signature string) {
	if len(t) > 0 {
		t[len(t)-1].Signature += signature
	}
}

// signature is what proves these thoughts later: the API's own for the usual
// single block, else all blocks packed together.
func (t thoughts) signature() string {
	switch {
	case len(t) == 0:
		return ""
	case len(t) == 1 && t[0].Redacted == "":
		return t[0].Signature
	}
	raw, err := json.Marshal(t)
	if err != nil {
		return ""
	}
	return packed + string(raw)
}

// remembered turns a stored message's reasoning back into blocks. Reasoning
// without a signature is another provider's and stays out.
func remembered(m model.Message) []sdk.ContentBlockParamUnion {
	rest, several := strings.CutPrefix(m.ReasoningSignature, packed)
	if !several {
		if m.ReasoningSignature == "" {
			return nil
		}
		return []sdk.ContentBlockParamUnion{sdk.NewThinkingBlock(m.ReasoningSignature, m.Reasoning)}
	}
	var ts thoughts
	if json.Unmarshal([]byte(rest), &ts) != nil {
		return nil
	}
	var out []sdk.ContentBlockParamUnion
	for _, t := range ts {
		switch {
		case t.Redacted != "":
			out = append(out, sdk.NewRedactedThinkingBlock(t.Redacted))
		case t.Signature != "":
			out = append(out, sdk.NewThinkingBlock(t.Signature, t.Text))
		}
	}
	return out
}

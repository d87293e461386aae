package openai

import (
	"encoding/json"
	"math"

	"github.com/google/uuid"
	sdk "github.com/openai/openai-go/v3"

	"parley.internal/internal/brain/model"
)

// answer follows one streamed completion.
type answer struct {
	provider *Provider
	choices  int
	usage    model.Usage
	finish   model.Finish
	calls    []call
	at       map[int64]int // the server's index -> ours
}

// call is what we know of a tool call; its arguments are passed on as they come.
type call struct{ id, name string }

func (a *answer) translate(c sdk.ChatCompletionChunk) []model.Event {
	if c.JSON.Usage.Valid() {
		a.count(c.Usage)
	}
	var out []model.Event
	for _, ch := range c.Choices {
		if ch.Index != 0 { // we never ask for more than one
			continue
		}
		a.choices++
		out = append(out, a.delta(ch.Delta)...)
		if ch.FinishReason != "" {
			a.finish = finish(ch.FinishReason)
		}
	}
	return out
}

func (a *answer) delta(d sdk.ChatCompletionChunkChoiceDelta) []model.Event {
	var out []model.Event
	if t := reasoning(d); t != "" {
		out = append(out, model.Event{Kind: model.Thinking, Text: t})
	}
	if d.Content != "" {
		out = append(out, model.Event{Kind: model.Text, Text: d.Content})
	}
	if d.Refusal != "" {
		out = append(out, model.Event{Kind: model.Text, Text: d.Refusal})
	}
	for _, t := range d.ToolCalls {
		out = append(out, a.call(t))
	}
	return out
}

// reasoning is the model's thinking, under either of the names servers use.
func reasoning(d sdk.ChatCompletionChunkChoiceDelta) string {
	for _, name := range []string{"reasoning_content", "reasoning"} {
		var s string
		if f, ok := d.JSON.ExtraFields[name]; ok && json.Unmarshal([]byte(f.Raw()), &s) == nil && s != "" {
			return s
		}
	}
	return ""
}

// call merges a delta by the server's index. A new id together with a name means
// a new call even if the index does not say so.
func (a *answer) call(t sdk.ChatCompletionChunkChoiceDeltaToolCall) model.Event {
	n, known := a.at[t.Index]
	if known && t.ID != "" && a.calls[n].id != "" && t.ID != a.calls[n].id && t.Function.Name != "" {
		known = false
	}
	if !known {
		n = len(a.calls)
		a.calls = append(a.calls, call{})
		if a.at == nil {
			a.at = map[int64]int{}
		}
		a.at[t.Index] = n
	}
	c := &a.calls[n]
	ev := model.Event{Kind: model.CallDelta, Index: n, Arguments: t.Function.Arguments}
	if t.ID != "" && c.id == "" {
		c.id, ev.ID = t.ID, t.ID
	}
	if t.Function.Name != "" && c.name == "" {
		c.name, ev.Name = t.Function.Name, t.Function.Name
	}
	return ev
}

// count takes the figures of a chunk; the last one that has any wins.
func (a *answer) count(u sdk.CompletionUsage) {
	if u.PromptTokens == 0 && u.CompletionTokens == 0 {
		return
	}
	hit := u.PromptTokensDetails.CachedTokens
	if hit == 0 {
		hit = int64(extra(u, "prompt_cache_hit_tokens"))
	}
	hit = max(0, min(hit, u.PromptTokens))
	a.usage = model.Usage{
		Prompt: u.PromptTokens, Completion: u.CompletionTokens,
		CacheHit: hit, CacheMiss: u.PromptTokens - hit,
		CacheWrite: max(0, min(u.PromptTokensDetails.CacheWriteTokens, u.PromptTokens-hit)),
		Reasoning:  u.CompletionTokensDetails.ReasoningTokens,
	}
	if f, ok := u.JSON.ExtraFields["cost"]; ok && f.Raw() != "null" {
		if usd := extra(u, "cost"); usd >= 0 && usd < 1e9 {
			a.usage.CostMicros, a.usage.CostKnown = int64(math.Round(usd*1e6)), true
		}
	}
}

// extra is a number the SDK does not know; -1 if it is none.
func extra(u sdk.CompletionUsage, name string) float64 {
	f, ok := u.JSON.ExtraFields[name]
	if !ok {
		return 0
	}
	var n float64
	if json.Unmarshal([]byte(f.Raw()), &n) != nil {
		return -1
	}
	return n
}

// done closes the answer: ids for calls that got none, then the one Done event.
func (a *answer) done() []model.Event {
	var out []model.Event
	for i, c := range a.calls {
		if c.id == "" {
			out = append(out, model.Event{Kind: model.CallDelta, Index: i, ID: "call_" + uuid.NewString()})
		}
	}
	if len(a.calls) > 0 && (a.finish == model.FinishStop || a.finish == "") {
		a.finish = model.FinishCalls
	}
	if a.finish == "" {
		a.finish = model.FinishStop
	}
	a.usage.Rounds = 1
	return append(out, model.Event{Kind: model.Done, Usage: a.usage, Finish: a.finish})
}

func finish(reason string) model.Finish {
	switch reason {
	case "length":
		return model.FinishLength
	case "tool_calls", "function_call":
		return model.FinishCalls
	case "content_filter":
		return model.FinishFilter
	default:
		return model.FinishStop
	}
}

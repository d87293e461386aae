package anthropic

import (
	"encoding/json"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"parley.internal/internal/brain/model"
)

// answer follows one streamed message.
type answer struct {
	provider *Provider
	stopped  bool
	usage    model.Usage
	finish   model.Finish
	calls    map[int64]int // block index -> call index
	thoughts thoughts
}

// translate turns one event of the API into ours.
func (a *answer) translate(ev sdk.MessageStreamEventUnion) []model.Event {
	switch ev.Type {
	case "message_start":
		u := ev.Message.Usage
		a.count(u.InputTokens, u.OutputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens, u.OutputTokensDetails.ThinkingTokens)
	case "content_block_start":
		return a.open(ev.Index, ev.ContentBlock)
	case "content_block_delta":
		return a.delta(ev.Index, ev.Delta)
	case "message_delta":
		u := ev.Usage
		a.count(u.InputTokens, u.OutputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens, u.OutputTokensDetails.ThinkingTokens)
		if r := ev.Delta.StopReason; r != "" {
			a.finish = finish(r)
		}
	case "message_stop":
		a.stopped = true
	}
	return nil
}

// count keeps the largest figure seen of each: they are cumulative, and either
// event may leave some out.
func (a *answer) count(input, output, read, written, thinking int64) {
	a.usage.CacheHit = max(a.usage.CacheHit, read)
	a.usage.CacheWrite = max(a.usage.CacheWrite, written)
	a.usage.CacheMiss = max(a.usage.CacheMiss, input+written)
	a.usage.Prompt = a.usage.CacheHit + a.usage.CacheMiss
	a.usage.Completion = max(a.usage.Completion, output)
	a.usage.Reasoning = max(a.usage.Reasoning, thinking)
}

func (a *answer) open(index int64, b sdk.ContentBlockStartEventContentBlockUnion) []model.Event {
	switch b.Type {
	case "text":
		return text(model.Text, b.Text)
	case "thinking":
		a.thoughts.open(b.Thinking, b.Signature)
		return text(model.Thinking, b.Thinking)
	case "redacted_thinking":
		a.thoughts.redacted(b.Data)
	case "tool_use":
		if a.calls == nil {
			a.calls = map[int64]int{}
		}
		n := len(a.calls)
		a.calls[index] = n
		return []model.Event{{Kind: model.CallDelta, Index: n, ID: b.ID, Name: b.Name, Arguments: complete(b.Input)}}
	}
	return nil
}

// complete is the input a block starts with: empty from the API, complete from
// some compatible servers.
func complete(input any) string {
	if m, ok := input.(map[string]any); !ok || len(m) == 0 {
		return ""
	}
	raw, err := json.Marshal(input)
	if err != nil {
		return ""
	}
	return string(raw)
}

func (a *answer) delta(index int64, d sdk.MessageStreamEventUnionDelta) []model.Event {
	switch d.Type {
	case "text_delta":
		return text(model.Text, d.Text)
	case "thinking_delta":
		a.thoughts.add(d.Thinking)
		return text(model.Thinking, d.Thinking)
	case "signature_delta":
		a.thoughts.sign(d.Signature)
	case "input_json_delta":
		if n, ok := a.calls[index]; ok && d.PartialJSON != "" {
			return []model.Event{{Kind: model.CallDelta, Index: n, Arguments: d.PartialJSON}}
		}
	}
	return nil
}

func (a *answer) done() model.Event {
	a.usage.Rounds = 1
	if a.finish == "" {
		a.finish = model.FinishStop
	}
	if a.finish == model.FinishStop && len(a.calls) > 0 {
		a.finish = model.FinishCalls
	}
	return model.Event{Kind: model.Done, Usage: a.usage, Finish: a.finish, Signature: a.thoughts.signature()}
}

func text(kind model.Kind, s string) []model.Event {
	if s == "" {
		return nil
	}
	return []model.Event{{Kind: kind, Text: s}}
}

func finish(r sdk.StopReason) model.Finish {
	switch r {
	case sdk.StopReasonMaxTokens, sdk.StopReasonModelContextWindowExceeded:
		return model.FinishLength
	case sdk.StopReasonToolUse:
		return model.FinishCalls
	case sdk.StopReasonRefusal:
		return model.FinishFilter
	default:
		return model.FinishStop
	}
}

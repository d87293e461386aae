package talk

import (
	"errors"
	"time"

	"parley.internal/internal/brain"
	"parley.internal/internal/brain/model"
	"parley.internal/internal/talk"
	"parley.internal/internal/talk/memory"
	"parley.internal/internal/wsconn"
	wire "parley.internal/protocol/agentfirst"
)

// closeTooSlow is how a reader that fell behind is cut.
const closeTooSlow = wsconn.CodeTryLater

func isLagged(err error) bool { return errors.Is(err, talk.ErrLagged) }

// mergeable events may join the one before while they wait.
func mergeable(ev talk.Event) bool { return ev.Kind == talk.Chunk || ev.Kind == talk.Thinking }

// streamEvent is an event as the wire has it; nil for what no stream carries.
func streamEvent(ev talk.Event) *wire.StreamEvent {
	switch ev.Kind {
	case talk.Start:
		return &wire.StreamEvent{Event: &wire.StreamEvent_Start{Start: &wire.StreamStart{Agent: ev.Agent, RunId: ev.Run, Seq: number(ev.Seq)}}}
	case talk.Chunk:
		return &wire.StreamEvent{Event: &wire.StreamEvent_Chunk{Chunk: &wire.StreamChunk{Content: ev.Text}}}
	case talk.Thinking:
		return &wire.StreamEvent{Event: &wire.StreamEvent_Thinking{Thinking: &wire.StreamThinking{Content: ev.Text}}}
	case talk.ToolStart:
		return &wire.StreamEvent{Event: &wire.StreamEvent_ToolStart{ToolStart: &wire.ToolStart{Calls: toolCalls(ev.Calls)}}}
	case talk.ToolResult:
		return toolResult(ev.Result)
	case talk.ToolsComplete:
		return &wire.StreamEvent{Event: &wire.StreamEvent_ToolsComplete{ToolsComplete: &wire.ToolsComplete{}}}
	case talk.End:
		return &wire.StreamEvent{Event: &wire.StreamEvent_End{End: &wire.StreamEnd{
			Agent: ev.Agent, Error: ev.Error, Provider: ev.Provider, Model: ev.Model, Usage: usage(ev.Usage),
			Stop: stopReason(ev.Stop), Seq: number(ev.Seq),
		}}}
	case talk.Ask:
		return askUser(ev.Ask)
	}
	return addedEvent(ev)
}

// addedEvent is the part of streamEvent that only extended clients see.
func addedEvent(ev talk.Event) *wire.StreamEvent {
	switch ev.Kind {
	case talk.Queued:
		return &wire.StreamEvent{Event: &wire.StreamEvent_Queued{Queued: &wire.Queued{Position: small(ev.Position), RunId: ev.Run}}}
	case talk.Steered:
		return &wire.StreamEvent{Event: &wire.StreamEvent_Steered{Steered: &wire.Steered{Content: ev.Text, Seq: number(ev.Seq)}}}
	case talk.Segment:
		return &wire.StreamEvent{Event: &wire.StreamEvent_Segment{Segment: &wire.Segment{Kind: uint32(ev.Segment), Open: ev.Open}}}
	case talk.RoundUsage:
		return roundUsage(ev)
	case talk.Compacted:
		return compacted(ev.Compaction)
	case talk.Titled:
		return &wire.StreamEvent{Event: &wire.StreamEvent_Notice{Notice: &wire.Notice{Code: wire.NoticeTitled, Text: ev.Text}}}
	case talk.Notice:
		return &wire.StreamEvent{Event: &wire.StreamEvent_Notice{Notice: &wire.Notice{Code: ev.Code, Text: ev.Text}}}
	case talk.Waiting:
		if a := ev.Approval; a != nil {
			return &wire.StreamEvent{Event: &wire.StreamEvent_Waiting{Waiting: &wire.Waiting{
				ApprovalId: a.ID, Tool: a.Tool, Summary: a.Summary, Resolved: a.Resolved,
			}}}
		}
	case talk.AskResolved:
		if ev.Ask != nil {
			return &wire.StreamEvent{Event: &wire.StreamEvent_AskResolved{AskResolved: &wire.AskResolved{AskId: ev.Ask.ID, By: ev.By}}}
		}
	}
	return nil
}

func toolCalls(calls []model.Call) []*wire.ToolCall {
	out := make([]*wire.ToolCall, len(calls))
	for i, c := range calls {
		out[i] = &wire.ToolCall{Name: c.Name, Arguments: c.Arguments, CallId: c.ID}
	}
	return out
}

func toolResult(r *talk.Result) *wire.StreamEvent {
	if r == nil {
		return nil
	}
	return &wire.StreamEvent{Event: &wire.StreamEvent_ToolResult{ToolResult: &wire.ToolResult{
		CallId: r.CallID, Output: r.Output, DurationMs: number(r.Duration.Milliseconds()), IsError: r.IsError, LeftOutBytes: number(int64(r.LeftOut)),
	}}}
}

func askUser(q *talk.Question) *wire.StreamEvent {
	if q == nil {
		return nil
	}
	out := &wire.AskUser{AskId: q.ID, ExpiresAt: moment(q.Expires)}
	for _, p := range q.Parts {
		part := &wire.Question{Question: p.Question, Header: p.Header, MultiSelect: p.MultiSelect}
		for _, o := range p.Options {
			part.Options = append(part.Options, &wire.QuestionOption{Label: o.Label, Description: o.Description})
		}
		out.Questions = append(out.Questions, part)
	}
	return &wire.StreamEvent{Event: &wire.StreamEvent_AskUser{AskUser: out}}
}

func roundUsage(ev talk.Event) *wire.StreamEvent {
	out := &wire.RoundUsage{Round: small(ev.Round), Usage: usage(ev.Usage), ContextUsed: number(ev.ContextUsed)}
	if ev.ContextLimit > 0 {
		out.ContextLimit = new(number(ev.ContextLimit))
	}
	return &wire.StreamEvent{Event: &wire.StreamEvent_RoundUsage{RoundUsage: out}}
}

func compacted(c *talk.Compaction) *wire.StreamEvent {
	if c == nil {
		return nil
	}
	return &wire.StreamEvent{Event: &wire.StreamEvent_Compacted{Compacted: &wire.Compacted{
		ArchiveId: c.ArchiveID, Title: c.Title, Automatic: c.Automatic, Messages: small(c.Messages), Usage: usage(&c.Usage),
	}}}
}

// stopReason is the wire's number; a failure of ours is an interruption there.
func stopReason(s brain.Stop) wire.StopReason {
	if s > brain.StopInterrupted {
		return wire.StopInterrupted
	}
	return wire.StopReason(s)
}

func usage(u *model.Usage) *wire.TokenUsage {
	if u == nil {
		return &wire.TokenUsage{}
	}
	out := &wire.TokenUsage{
		PromptTokens: small(u.Prompt), CompletionTokens: small(u.Completion), TotalTokens: small(u.Total()), Rounds: small(u.Rounds),
	}
	if u.CacheHit > 0 || u.CacheMiss > 0 {
		out.CacheHitTokens, out.CacheMissTokens = new(small(u.CacheHit)), new(small(u.CacheMiss))
	}
	if u.Reasoning > 0 {
		out.ReasoningTokens = new(small(u.Reasoning))
	}
	if u.CostKnown {
		out.CostMicros = new(number(u.CostMicros))
	}
	return out
}

// number and small fit our integers into the wire's.
func number(n int64) uint64 { return uint64(max(n, 0)) }

func small[T int | int64](n T) uint32 { return uint32(min(max(int64(n), 0), 1<<32-1)) }

// moment is RFC 3339, empty for none.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func historyMessage(m memory.Message) *wire.HistoryMessage {
	var files []*wire.FileRef
	for _, f := range m.Files {
		files = append(files, &wire.FileRef{Digest: f.Digest, Name: f.Name, Type: f.Type, Size: number(f.Size)})
	}
	return &wire.HistoryMessage{
		Files: files,
		Role:  string(m.Role), Content: m.Text, Agent: m.Agent, Seq: number(m.Seq), At: moment(m.At), Summary: m.Summary,
		Outcome: m.Outcome.How, OutcomeCode: m.Outcome.Code,
	}
}

func historyMessages(list []memory.Message) []*wire.HistoryMessage {
	out := make([]*wire.HistoryMessage, len(list))
	for i, m := range list {
		out[i] = historyMessage(m)
	}
	return out
}

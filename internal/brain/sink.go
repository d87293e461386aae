package brain

import (
	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/tool"
)

// Sink hears what happens in a run, as it happens. Emit is called from one
// goroutine at a time and must not block: a run never waits for a reader.
type Sink interface {
	Emit(Event)
}

// SinkFunc makes a function a Sink.
type SinkFunc func(Event)

// Emit calls the function.
func (f SinkFunc) Emit(e Event) { f(e) }

// EventKind tells what an Event carries.
type EventKind uint8

// The kinds of events, in the order a round has them. Segments never overlap and
// are closed before a tool event.
const (
	// SegmentOpen and SegmentClose bracket a stretch of text or thinking (Segment).
	SegmentOpen EventKind = iota + 1
	SegmentClose
	// Chunk is a piece of text, Thinking of thinking (Text).
	Chunk
	Thinking
	// ToolNamed tells early that a call is coming: its name is known, its
	// arguments are not (Calls has that one call).
	ToolNamed
	// ToolCalls has all calls of the round, complete and stored.
	ToolCalls
	// ToolResult is one result, in completion order.
	ToolResult
	// ToolsComplete follows the last result, once they are stored.
	ToolsComplete
	// RoundUsage follows every model call.
	RoundUsage
	// Notice is something a person should know (Code, Text).
	Notice
)

// Segment is what a stretch of output is.
type Segment uint8

// The segments, numbered as on the wire.
const (
	TextSegment     Segment = 1
	ThinkingSegment Segment = 2
)

// Event is one thing that happened.
type Event struct {
	Kind    EventKind
	Segment Segment
	Text    string
	Code    string
	Calls   []model.Call
	Result  *tool.Done
	// RoundUsage: the round from 1, what it used, how much of the model's window
	// (0 = unknown) is taken.
	Round         int
	Usage         model.Usage
	ContextUsed   int64
	ContextWindow int64
}

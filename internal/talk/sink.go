package talk

import (
	"strings"
	"unicode/utf8"

	"parley.internal/internal/brain"
	"parley.internal/internal/brain/model"
	"parley.internal/protocol/agentfirst"
)

const textSegment = brain.TextSegment

// runSink turns what happens in a run into events of the conversation.
type runSink struct {
	r        *running
	thinking runeJoiner
}

// Emit implements brain.Sink. It does not block: listeners have their own queues.
func (s *runSink) Emit(e brain.Event) {
	run := s.r.tn.id
	say := func(ev Event) { ev.Run = run; s.r.c.feed.publish(ev) }
	switch e.Kind {
	case brain.SegmentOpen:
		say(Event{Kind: Segment, Segment: e.Segment, Open: true})
	case brain.SegmentClose:
		if rest := s.thinking.Flush(); rest != "" {
			say(Event{Kind: Thinking, Text: rest})
		}
		say(Event{Kind: Segment, Segment: e.Segment})
	case brain.Chunk:
		say(Event{Kind: Chunk, Text: e.Text})
	case brain.Thinking:
		if text := s.thinking.Next(e.Text); text != "" {
			say(Event{Kind: Thinking, Text: text})
		}
	case brain.ToolNamed, brain.ToolCalls:
		say(Event{Kind: ToolStart, Calls: shownCalls(e.Calls)})
	case brain.ToolResult:
		d := e.Result
		say(Event{Kind: ToolResult, Result: &Result{
			CallID: valid(d.Call.ID), Name: valid(d.Call.Name), Output: d.Output, Duration: d.Duration, IsError: d.IsError, LeftOut: d.LeftOut,
		}})
		s.r.auditTool(d)
	case brain.ToolsComplete:
		say(Event{Kind: ToolsComplete})
	case brain.RoundUsage:
		say(Event{Kind: RoundUsage, Round: e.Round, Usage: usageOf(e.Usage), ContextUsed: e.ContextUsed, ContextLimit: e.ContextWindow})
	case brain.Notice:
		say(Event{Kind: Notice, Code: e.Code, Text: valid(e.Text)})
	}
}

func shownCalls(calls []model.Call) []model.Call {
	if len(calls) == 0 {
		return nil
	}
	out := make([]model.Call, len(calls))
	for i, c := range calls {
		out[i] = model.Call{ID: valid(c.ID), Name: valid(c.Name), Arguments: valid(c.Arguments)}
	}
	return out
}

// valid makes a text that every wire can carry.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// runeJoiner cuts text at characters: what a provider split in the middle of one
// is put together again, and what is none becomes a replacement. Wires carry
// UTF-8 only, and chunks must add up to what is stored.
type runeJoiner struct{ held string }

// Next takes a piece in and gives what is whole.
func (j *runeJoiner) Next(piece string) string {
	s := j.held + piece
	j.held = ""
	cut := len(s)
	for back := 1; back <= utf8.UTFMax-1 && back <= len(s); back++ {
		if b := s[len(s)-back]; utf8.RuneStart(b) {
			if !utf8.FullRuneInString(s[len(s)-back:]) {
				cut = len(s) - back
			}
			break
		}
	}
	j.held = s[cut:]
	return valid(s[:cut])
}

// Flush gives the rest.
func (j *runeJoiner) Flush() string {
	rest := valid(j.held)
	j.held = ""
	return rest
}

// wholeText is the filter of every run: it only joins characters.
func wholeText() brain.TextFilter { return &runeJoiner{} }

// plainText is the filter of a run that reads other agents' tags: it also removes
// tags the model imitates.
func plainText() brain.TextFilter { return &tagRemover{} }

type tagRemover struct {
	join runeJoiner
	tags agentfirst.TagFilter
}

func (t *tagRemover) Next(piece string) string { return t.tags.Write(t.join.Next(piece)) }

func (t *tagRemover) Flush() string { return t.tags.Write(t.join.Flush()) + t.tags.Flush() }

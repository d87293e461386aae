package brain

import "parley.internal/internal/brain/model"

// hearing turns the events of one model call into events of the run, and keeps
// what was said.
type hearing struct {
	sink   Sink
	filter TextFilter
	mute   bool // calls are dropped, so nobody hears of them
	open   Segment
	answer Answer
}

// hear takes one event in. It always wants more.
func (h *hearing) hear(ev *model.Event) bool {
	switch ev.Kind {
	case model.Text:
		h.text(ev.Text)
	case model.Thinking:
		if h.answer.Add(ev); ev.Text != "" {
			h.segment(ThinkingSegment)
			h.sink.Emit(Event{Kind: Thinking, Text: ev.Text})
		}
	case model.CallDelta:
		if h.answer.delta(ev) && !h.mute {
			h.segment(0)
			c := h.answer.call(ev.Index)
			h.sink.Emit(Event{Kind: ToolNamed, Calls: []model.Call{{ID: c.id, Name: c.name}}})
		}
	default:
		h.answer.Add(ev)
	}
	return true
}

// text is kept as it is sent: after the filter.
func (h *hearing) text(s string) {
	if h.filter != nil {
		s = h.filter.Next(s)
	}
	h.say(s)
}

func (h *hearing) say(s string) {
	if s == "" {
		return
	}
	h.answer.text.add(s)
	h.segment(TextSegment)
	h.sink.Emit(Event{Kind: Chunk, Text: s})
}

// segment makes s the open segment (0 = none).
func (h *hearing) segment(s Segment) {
	if h.open == s {
		return
	}
	if h.open != 0 {
		h.sink.Emit(Event{Kind: SegmentClose, Segment: h.open})
	}
	if h.open = s; s != 0 {
		h.sink.Emit(Event{Kind: SegmentOpen, Segment: s})
	}
}

// close ends the round's output.
func (h *hearing) close() {
	if h.filter != nil {
		h.say(h.filter.Flush())
	}
	h.segment(0)
}

func (h *hearing) message(round int) model.Message {
	m := model.Message{
		Role: model.Assistant, Text: h.answer.Text(),
		Reasoning: h.answer.Reasoning(), ReasoningSignature: h.answer.Signature,
	}
	if !h.mute {
		m.Calls = h.answer.Calls(round)
	}
	return m
}

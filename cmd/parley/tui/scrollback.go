package tui

import (
	"strings"

	wire "parley.internal/protocol/agentfirst"
)

// maxKept is how much of what happened is kept to be shown again.
const maxKept = 20_000

// kept is something that was shown: an event, lines of the chat's own, or that the hub was lost.
// Lines are made for a width; from this they are made again for another.
type kept struct {
	thread string
	event  *wire.ConversationEvent
	lines  []string
	lost   bool
	// said is the text of an event of text, with what followed it.
	said *strings.Builder
}

// keep adds something to what can be shown again. Neighbouring pieces of text become one.
func (m *Model) keep(k kept) {
	if text := k.event.GetStream().GetChunk(); text != nil {
		if n := len(m.kept); n > 0 && m.kept[n-1].said != nil && m.kept[n-1].event.GetRunId() == k.event.GetRunId() {
			m.kept[n-1].said.WriteString(text.GetContent())
			return
		}
		k.said = &strings.Builder{}
		k.said.WriteString(text.GetContent())
	}
	m.kept = append(m.kept, k)
	if extra := len(m.kept) - maxKept; extra > 0 {
		m.kept = m.kept[extra:]
	}
}

// rewrap makes the lines again, for the width that the window has now.
func (m *Model) rewrap() {
	scroll := m.scroll
	m.lines, m.scroll = nil, 0
	again := NewChat(m.chat.Agent, m.chat.Sender, "")
	again.Width = m.chat.Width
	for _, k := range m.kept {
		if k.event != nil && k.thread != again.Thread {
			again = again.in(k.thread)
		}
		switch {
		case k.said != nil:
			again.Apply(chunkOf(k.event.GetRunId(), k.said.String()))
		case k.event != nil:
			m.print(again.Apply(k.event)...)
		case k.lost:
			again.Lost()
		}
		m.print(k.lines...)
	}
	m.scrollBy(scroll)
}

func chunkOf(run, text string) *wire.ConversationEvent {
	return &wire.ConversationEvent{RunId: run, Event: &wire.ConversationEvent_Stream{Stream: &wire.StreamEvent{
		Event: &wire.StreamEvent_Chunk{Chunk: &wire.StreamChunk{Content: text}},
	}}}
}

// remark prints lines of the chat's own.
func (m *Model) remark(lines ...string) {
	m.keep(kept{lines: lines})
	m.print(lines...)
}

// hubLost says once that the hub is away. What it was doing is not known until it is back.
func (m *Model) hubLost(msg lostMsg) {
	if msg.thread != m.chat.Thread || m.away {
		return
	}
	m.away = true
	m.keep(kept{lost: true})
	m.chat.Lost()
	m.remark(failure.Render("The hub is away (" + brief(msg.err.Error(), 200) + "); trying again."))
}

// hubBack says that it is there again. What a run that did not outlive it had said was just shown,
// with how it ended.
func (m *Model) hubBack(ev *wire.ConversationEvent) {
	if m.away && ev.GetCaughtUp() {
		m.away = false
		m.remark(dim.Render("— connected again —"))
	}
}

package talk

import (
	"google.golang.org/protobuf/proto"

	wire "parley.internal/protocol/agentfirst"
)

// join puts two waiting payloads of one stream together if both are pieces of
// the same text. Nothing is lost: the text is what a reader concatenates anyway.
func join(older, newer []byte) ([]byte, bool) {
	a, errA := wire.UnmarshalServer(older)
	b, errB := wire.UnmarshalServer(newer)
	if errA != nil || errB != nil || a.GetRequestId() != b.GetRequestId() {
		return nil, false
	}
	to, from := textOf(a), textOf(b)
	if to == nil || from == nil || to.kind != from.kind {
		return nil, false
	}
	to.set(to.text + from.text)
	out, err := proto.Marshal(a)
	return out, err == nil
}

// piece is the text in a message, and how to change it.
type piece struct {
	// kind tells pieces apart that must not be joined.
	kind string
	text string
	set  func(string)
}

func textOf(m *wire.ServerMessage) *piece {
	if e := m.GetAgentEvent(); e != nil {
		if e.GetKind() != wire.EventTextDelta && e.GetKind() != wire.EventThinkingDelta {
			return nil
		}
		return &piece{"event " + e.GetKind().String() + " " + e.GetRunId(), e.GetContent(), func(s string) { e.Content = s }}
	}
	if e := m.GetConversationEvent(); e != nil {
		p := textOfStream(e.GetStream())
		if p != nil {
			p.kind = "conversation " + p.kind + " " + e.GetRunId()
		}
		return p
	}
	return textOfStream(m.GetStream())
}

func textOfStream(e *wire.StreamEvent) *piece {
	if c := e.GetChunk(); c != nil {
		return &piece{"chunk", c.GetContent(), func(s string) { c.Content = s }}
	}
	if t := e.GetThinking(); t != nil {
		return &piece{"thinking", t.GetContent(), func(s string) { t.Content = s }}
	}
	return nil
}

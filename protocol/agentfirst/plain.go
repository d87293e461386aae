package agentfirst

// firstAdditive is where Parley's own numbers begin.
const firstAdditive = 200

// ForPlain reports whether m may be sent to a plain client, one that has not
// said hello: its variant, and the enum values and events inside, are the
// original protocol's. Additive fields do no harm: an old client skips them.
func ForPlain(m *ServerMessage) bool {
	number, known := ServerVariant(m)
	if !known || number >= firstAdditive {
		return false
	}
	switch v := m.GetMessage().(type) {
	case *ServerMessage_Stream:
		return EventForPlain(v.Stream)
	case *ServerMessage_AgentEvent:
		return v.AgentEvent.GetKind() < firstAdditive
	}
	return true
}

// EventForPlain reports whether a step of a run may be sent to a plain client.
func EventForPlain(e *StreamEvent) bool {
	number, known := EventVariant(e)
	return known && number < firstAdditive
}

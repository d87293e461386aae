package talk

import (
	"slices"
	"strings"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/talk/memory"
	"parley.internal/protocol/agentfirst"
)

// window is the live part of a conversation: the newest archive's summary and the
// messages since.
type window struct{ memory.Window }

func (w *window) add(msgs ...memory.Message) {
	w.Messages = append(w.Messages, msgs...)
	if n := len(w.Messages); n > 0 {
		w.Conversation.LastSeq = max(w.Conversation.LastSeq, w.Messages[n-1].Seq)
	}
}

// archived moves the start of the window behind an archive.
func (w *window) archived(a memory.Archive) {
	w.Archive = &a
	w.Conversation.Archive, w.Conversation.WindowFrom = a.ID, a.ToSeq+1
	w.Messages = slices.DeleteFunc(w.Messages, func(m memory.Message) bool { return m.Seq <= a.ToSeq })
	w.Messages = slices.Clip(w.Messages)
}

// others tells whether the window holds a message of an agent that is not name.
func (w *window) others(name string) bool {
	primary := w.Conversation.Agent
	return slices.ContainsFunc(w.Messages, func(m memory.Message) bool {
		return m.Role == model.Assistant && speakerOf(m, primary) != name
	})
}

func speakerOf(m memory.Message, primary string) string {
	if m.Agent != "" {
		return m.Agent
	}
	return primary
}

// reading is who reads a window, and how.
type reading struct {
	name string
	// expand makes a user's "/skill" into what it stands for; nil leaves it.
	expand func(string) string
	// toolMax cuts tool results to so many characters; negative keeps them whole.
	toolMax int
	// escape keeps texts from imitating the tags around other agents' words; nothing does where there are
	// none.
	escape func(string) string
}

// read gives the window as one agent is sent it: its own words bare, those of
// others tagged, others' tools left out.
func (w *window) read(r reading) []model.Message {
	primary := w.Conversation.Agent
	r.escape = func(text string) string { return text }
	if r.name != primary || w.others(r.name) {
		r.escape = agentfirst.EscapeFrom
	}
	out := make([]model.Message, 0, len(w.Messages)+8)
	if w.Archive != nil {
		out = append(out, model.Message{Role: model.User, Summary: true, Text: agentfirst.WrapSummary(w.Archive.ArchivedAt, w.Archive.Summary)})
	}
	speaker := primary
	for i := range w.Messages {
		m := &w.Messages[i]
		if m.Role == model.Assistant {
			speaker = speakerOf(*m, primary)
		}
		if msg, ok := r.message(m, primary, speaker); ok {
			out = append(out, msg)
		}
	}
	return out
}

func (r reading) message(m *memory.Message, primary, speaker string) (model.Message, bool) {
	switch m.Role {
	case model.Assistant:
		if speaker != r.name {
			text := agentfirst.Tag(r.name, primary, speaker, m.Text)
			return model.Message{Role: model.Assistant, Text: text, Interrupted: m.Interrupted}, m.Text != ""
		}
		msg := m.Message
		msg.Text = r.escape(m.Text)
		return msg, true
	case model.Tool:
		msg := m.Message
		msg.Text = r.cut(m.Text)
		return msg, speaker == r.name
	case model.User:
		text := m.Text
		if r.expand != nil {
			text = r.expand(text)
		}
		return model.Message{Role: model.User, Text: r.escape(text), Files: m.Files}, true
	default:
		return model.Message{Role: m.Role, Text: r.escape(m.Text)}, true
	}
}

func (r reading) cut(text string) string {
	if r.toolMax < 0 || len(text) <= r.toolMax {
		return text
	}
	n := 0
	for i := range text {
		if n++; n > r.toolMax {
			return text[:i] + " […]"
		}
	}
	return text
}

// latestUser is where injected context goes: directly before the latest user
// message. Without one it is the end.
func latestUser(msgs []model.Message) int {
	for i, m := range slices.Backward(msgs) {
		if m.Role == model.User && !m.Summary && !m.Injected {
			return i
		}
	}
	return len(msgs)
}

// inject puts context directly before the latest user message.
func inject(msgs []model.Message, texts ...string) []model.Message {
	var add []model.Message
	for _, text := range texts {
		if strings.TrimSpace(text) != "" {
			add = append(add, model.Message{Role: model.System, Text: text, Injected: true})
		}
	}
	return slices.Insert(msgs, latestUser(msgs), add...)
}

package offline

import (
	"fmt"

	"parley.internal/internal/brain/model"
	"parley.internal/protocol/agentfirst"
)

// compactAnswer is a summary that can be checked: how much there was, how it
// began, how it ended.
func compactAnswer(req *model.Request) string {
	n, first, last := 0, "", ""
	for i := range req.Messages {
		m := &req.Messages[i]
		if spoken(m) {
			if last = m.Text; first == "" {
				first = m.Text
			}
		}
		if spoken(m) || m.Role == model.Assistant && !m.Injected {
			n++
		}
	}
	s := fmt.Sprintf("Conversation of %d messages about \"%s\". Last: \"%s\".", n, firstLine(first, 40), firstLine(last, 80))
	if req.Focus != "" {
		s += " Focus: " + req.Focus + "."
	}
	return s
}

// titleAnswer titles a conversation by its first words.
func titleAnswer(req *model.Request) string {
	for i := range req.Messages {
		if m := &req.Messages[i]; spoken(m) {
			return agentfirst.Title(m.Text)
		}
	}
	return ""
}

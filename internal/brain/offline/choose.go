package offline

import (
	"strings"

	"parley.internal/internal/brain/model"
)

// script is what a request asks this model to play, and where it stands in it.
type script struct {
	text  string
	files []model.File // that came with it
	skip  int          // batches of calls already made
	round int          // names the calls of this round, from 1
}

// choose finds the script of a request.
func choose(req model.Request) script {
	if req.Purpose == model.ForTask {
		return taskScript(req.Messages)
	}
	return turnScript(req.Messages)
}

// turnScript is the last message of the person, and nothing before it.
func turnScript(msgs []model.Message) script {
	s := script{round: 1}
	for i := len(msgs) - 1; i >= 0; i-- {
		m := &msgs[i]
		if spoken(m) {
			s.text, s.files = m.Text, m.Files
			return s
		}
		if m.Role == model.Assistant && len(m.Calls) > 0 {
			s.skip++
			s.round++
		}
	}
	return s
}

// taskScript is all the person said since the last finished answer. Rounds are
// counted over the whole task, so that call ids stay unique in its log.
func taskScript(msgs []model.Message) script {
	start := 0
	s := script{round: 1}
	for i := range msgs {
		m := &msgs[i]
		if m.Role != model.Assistant || m.Injected {
			continue
		}
		switch {
		case len(m.Calls) > 0:
			s.round++
			s.skip++
		case !m.Interrupted:
			start, s.skip = i+1, 0
		}
	}
	var said []string
	for i := start; i < len(msgs); i++ {
		if spoken(&msgs[i]) {
			said = append(said, msgs[i].Text)
			s.files = append(s.files, msgs[i].Files...)
		}
	}
	s.text = strings.Join(said, "\n")
	return s
}

// spoken tells the person's own words from context and summaries.
func spoken(m *model.Message) bool {
	return m.Role == model.User && !m.Injected && !m.Summary
}

package seat

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"parley.internal/client/roomagent"
	"parley.internal/internal/fit"
	"parley.internal/protocol/kibitz"
)

const (
	// pauseBetween is the least time between two comments nobody asked for.
	pauseBetween = 6 * time.Second
	// maxReplies is how many lines wait for an answer; the oldest go first.
	maxReplies = 8
	// maxContext is how many lines a model is shown.
	maxContext = 20
	// maxRefused is how many refused lines are remembered.
	maxRefused = 64
)

// Line is something said in a room.
type Line struct {
	Name string `json:"name"`
	Text string `json:"text"`
	// Own marks the agent's own lines.
	Own bool `json:"own,omitempty"`
}

// job is one thing to think about: a line to answer, or a view to comment on.
type job struct {
	reply *Line
	view  json.RawMessage
}

func (j job) some() bool { return j.reply != nil || j.view != nil }

// manners decide when an agent opens its mouth. They know no room, no model and
// no clock.
type manners struct {
	name string
	cool *roomagent.Cooldown
	last time.Time // when cool was stamped

	may      bool
	replies  []Line
	fresh    json.RawMessage // a view nobody has commented on
	newest   json.RawMessage // the newest view, commented on or not
	heard    []Line
	followed bool // the last line was its own
	previous string
	refused  []string
}

func newManners(name string) *manners {
	return &manners{name: name, cool: roomagent.NewCooldown(pauseBetween)}
}

// allow tells whether it may speak now. Who may not any more forgets what waits:
// it will not come back to it later.
func (m *manners) allow(may bool) {
	if m.may = may; !may {
		m.replies, m.fresh, m.followed = nil, nil, false
	}
}

// hear takes a person's line. Agents' lines are not given to it at all. It
// reports whether the line is to be answered.
func (m *manners) hear(l Line) bool {
	m.remember(l)
	mine := m.followed || names(l.Text, m.name)
	m.followed = false
	if !mine || !m.may {
		return false
	}
	m.replies = append(m.replies, l)
	m.replies = m.replies[max(0, len(m.replies)-maxReplies):]
	return true
}

func (m *manners) remember(l Line) {
	m.heard = append(m.heard, l)
	m.heard = m.heard[max(0, len(m.heard)-maxContext):]
}

// see takes a view. One that was there before the agent came is no news.
func (m *manners) see(view json.RawMessage, news bool) {
	m.newest = view
	if news && m.may {
		m.fresh = view
	}
}

// next is what to think about now. Replies come first and wait for nothing. With
// nothing to do now, wait tells when to ask again; 0 is when something happens.
func (m *manners) next(now time.Time) (j job, wait time.Duration) {
	switch {
	case !m.may:
	case len(m.replies) > 0:
		j.reply = &m.replies[0]
		m.replies = m.replies[1:]
	case m.fresh == nil:
	case m.cool.Ready(now):
		j.view, m.fresh = m.fresh, nil
		m.stamp(now) // a model that fails is not asked again at once, either
	default:
		wait = m.last.Add(pauseBetween).Sub(now)
	}
	return j, wait
}

func (m *manners) stamp(now time.Time) {
	m.cool.Stamp(now)
	m.last = now
}

// giveBack takes back a view whose comment was interrupted, unless there is a newer.
func (m *manners) giveBack(j job) {
	if j.reply == nil && m.fresh == nil && m.may {
		m.fresh = j.view
	}
}

// words are what is to be said of a model's answer; empty for nothing.
func (m *manners) words(answer string, j job) string {
	text := fit.Clip(fit.OneLine(answer), kibitz.MaxChat) // one chat line
	if !m.may || strings.EqualFold(strings.Trim(text, ".\"'`"), passWord) {
		return ""
	}
	again := j.reply == nil && text == m.previous // it has said so already
	if again || slices.Contains(m.refused, text) {
		return ""
	}
	return text
}

// said notes a line of its own that the room has taken.
func (m *manners) said(text string, now time.Time) {
	m.stamp(now)
	m.previous, m.followed = text, true
	m.remember(Line{Name: m.name, Text: text, Own: true})
}

// denied notes a line the room refused: it is never tried again.
func (m *manners) denied(text string) {
	m.refused = append(m.refused, text)
	m.refused = m.refused[max(0, len(m.refused)-maxRefused):]
}

// names reports whether a text has a name in it as a word of its own.
func names(text, name string) bool {
	text, name = strings.ToLower(text), strings.ToLower(name)
	for at := 0; name != ""; {
		i := strings.Index(text[at:], name)
		if i < 0 {
			return false
		}
		start, end := at+i, at+i+len(name)
		before, _ := utf8.DecodeLastRuneInString(text[:start])
		after, _ := utf8.DecodeRuneInString(text[end:])
		if !inWord(before) && !inWord(after) {
			return true
		}
		at = end
	}
	return false
}

func inWord(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }

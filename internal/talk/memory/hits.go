package memory

import (
	"strings"
	"unicode/utf8"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/store"
)

// hit makes what people see of a candidate.
func (s *searcher) hit(c candidate) (Hit, error) {
	h := Hit{Score: c.score}
	var num, at int64
	var ref string
	err := s.tx.QueryRow(`SELECT kind, conversation, agent, sender, ref, seq, at FROM talk_docs WHERE id = ?`, c.id).
		Scan(&h.Kind, &num, &h.Agent, &h.Sender, &ref, &h.Seq, &at)
	if err != nil {
		return h, err
	}
	h.At = store.Time(at)
	if num != 0 {
		err = s.tx.QueryRow(`SELECT id, thread, title FROM talk_conversations WHERE num = ?`, num).Scan(&h.Conversation, &h.Thread, &h.Title)
		if err != nil {
			return h, err
		}
	}
	switch h.Kind {
	case "message":
		return h, s.messageHit(&h, num)
	case "archive":
		return h, s.archiveHit(&h, ref)
	default:
		return h, s.noteHit(&h, ref)
	}
}

func (s *searcher) messageHit(h *Hit, num int64) error {
	list, err := readRange(s.tx, num, Range{After: h.Seq - 1, Before: h.Seq + 1})
	if err != nil || len(list) == 0 {
		return err
	}
	m := list[0]
	h.Role, h.Speaker = string(m.Role), speaker(m, h.Agent)
	h.Snippet, h.Cut = s.snippet(m.Text)
	err = s.tx.QueryRow(`SELECT id FROM talk_archives WHERE conversation = ? AND from_seq <= ? AND to_seq >= ?`, num, h.Seq, h.Seq).Scan(&h.ArchiveID)
	if err != nil && !isNoRows(err) {
		return err
	}
	if s.q.Near <= 0 {
		return nil
	}
	before, err := readRange(s.tx, num, Range{Before: h.Seq, Limit: s.q.Near})
	if err != nil {
		return err
	}
	after, err := readRange(s.tx, num, Range{After: h.Seq, Limit: s.q.Near, Oldest: true})
	for _, m := range append(before, after...) {
		h.Near = append(h.Near, neighbour(m, h.Agent))
	}
	return err
}

func (s *searcher) archiveHit(h *Hit, id string) error {
	a, err := getArchive(s.tx, id)
	h.ArchiveID, h.Title, h.Role = a.ID, a.Title, "summary"
	h.Snippet, h.Cut = s.snippet(a.Summary)
	return err
}

func (s *searcher) noteHit(h *Hit, name string) error {
	var text string
	err := s.tx.QueryRow(`SELECT text FROM talk_notes WHERE agent = ? AND sender = ? AND name = ?`, h.Agent, h.Sender, name).Scan(&text)
	h.Title, h.Role = name, "note"
	h.Snippet, h.Cut = s.snippet(text)
	return err
}

func speaker(m Message, primary string) string {
	switch {
	case m.Role != model.Assistant:
		return ""
	case m.Agent != "":
		return m.Agent
	default:
		return primary
	}
}

// neighbour shows a message beside a hit; of tools only the name.
func neighbour(m Message, primary string) Neighbour {
	n := Neighbour{Seq: m.Seq, Role: string(m.Role), Speaker: speaker(m, primary)}
	if m.Role == model.Tool {
		n.Text = m.Name
		return n
	}
	n.Text, n.Cut = clip(m.Text, 0)
	return n
}

// snippet shows the text around the first word that was found.
func (s *searcher) snippet(text string) (string, bool) {
	if len(text) <= snippetBytes {
		return text, false
	}
	low := strings.ToLower(text)
	at := 0
	for _, term := range s.terms {
		if i := strings.Index(low, term); i > 0 && len(low) == len(text) {
			at = i
			break
		}
	}
	return clip(text, max(0, at-snippetBytes/4))
}

// clip cuts a piece of at most snippetBytes from text without breaking a character.
func clip(text string, from int) (string, bool) {
	if len(text) <= snippetBytes {
		return text, false
	}
	from = min(from, len(text)-snippetBytes)
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	to := min(from+snippetBytes, len(text))
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to--
	}
	return text[from:to], true
}

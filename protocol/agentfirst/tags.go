package agentfirst

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// primaryFraming is told to the primary agent while guests' words are in its window.
const primaryFraming = `Messages wrapped in <from agent="..."> tags are from guest agents. Continue responding as yourself and write no such tags.`

// PrimaryFraming returns what the primary agent is told while its window holds
// another agent's message.
func PrimaryFraming() string { return primaryFraming }

// GuestFraming returns what a guest is told about the conversation it joins.
func GuestFraming(primary string) string {
	return `You are joining a conversation as a guest. Its primary agent is "` + escapeAttr(primary) +
		`". Messages wrapped in <from agent="..."> tags are from other agents; the hub adds the tags.` +
		` Answer the latest user message as yourself and write no such tags.`
}

// Tag returns an assistant message as reader is to see it: bare when reader
// wrote it, else inside a from-tag. An empty speaker is the primary agent. The
// text is escaped either way.
func Tag(reader, primary, speaker, text string) string {
	if speaker == "" {
		speaker = primary
	}
	if speaker == reader {
		return EscapeFrom(text)
	}
	return `<from agent="` + escapeAttr(speaker) + "\">\n" + escapeFrom(text, true) + "\n</from>"
}

// EscapeFrom makes the "<" of every from-tag that a text imitates into "&lt;": of each opening one, and
// of closing ones if there is an opening one. Nothing else changes, since agents edit files by
// what they read: <from> elements of other documents, "i < from" and the like stay as they are.
// It is for user's and assistants' texts in a request that holds another agent's words.
func EscapeFrom(text string) string { return escapeFrom(text, false) }

// escapeFrom escapes closing tags too if the text stands inside a tag of ours.
func escapeFrom(text string, inside bool) string {
	return escapeTags(text, func(s string) bool {
		if matchOpening(s) == matched {
			inside = true
			return true
		}
		return inside && matchClosing(s) == matched
	})
}

// WrapSummary returns an archive's summary as the model is shown it.
func WrapSummary(archivedAt, summary string) string {
	summary = escapeTags(EscapeFrom(summary), func(s string) bool {
		_, m := matchWord(s, 1+strings.Count(s[1:min(2, len(s))], "/"), "summary")
		return m == matched
	})
	return `<summary archived_at="` + escapeAttr(archivedAt) + "\">\n" + summary + "\n</summary>"
}

var attrEscaper = strings.NewReplacer(
	"&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "\n", "&#10;", "\r", "&#13;")

func escapeAttr(s string) string { return attrEscaper.Replace(s) }

// escapeTags makes each "<" into "&lt;" that begins what is a tag.
func escapeTags(text string, isTag func(string) bool) string {
	var out strings.Builder
	done := 0
	for at := 0; at < len(text); at++ {
		i := strings.IndexByte(text[at:], '<')
		if i < 0 {
			break
		}
		at += i
		if !isTag(text[at:]) {
			continue
		}
		out.WriteString(text[done:at])
		out.WriteString("&lt;")
		done = at + 1
	}
	if done == 0 {
		return text
	}
	out.WriteString(text[done:])
	return out.String()
}

type match int

const (
	unmatched match = iota
	partial         // s ends before it is decided
	matched
)

// matchOpening tells whether s begins with an opening from-tag of ours as far as it tells it
// from other elements: <from, white space, agent, =, in any case.
func matchOpening(s string) match {
	at, m := matchWord(s, 1, "from")
	if m != matched {
		return m
	}
	name, m := skipSpace(s, at)
	switch {
	case m == partial:
		return partial
	case name == at:
		return unmatched
	}
	if at, m = matchWord(s, name, "agent"); m != matched {
		return m
	}
	if at, m = skipSpace(s, at); m != matched {
		return m
	}
	if s[at] != '=' {
		return unmatched
	}
	return matched
}

// matchClosing tells whether s begins with </from>, in any case, with white space before its end.
func matchClosing(s string) match {
	at, m := matchWord(s, 1, "/from")
	if m == matched {
		at, m = skipSpace(s, at)
	}
	if m == matched && s[at] != '>' {
		return unmatched
	}
	return m
}

// matchWord tells whether s goes on with a word at a place, in any case, and where it ends.
func matchWord(s string, at int, word string) (end int, m match) {
	for i := range len(word) {
		if at+i == len(s) {
			return 0, partial
		}
		c := s[at+i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != word[i] {
			return 0, unmatched
		}
	}
	return at + len(word), matched
}

// skipSpace returns the place of the first character from at on that is no white
// space; partial when s ends, or breaks off inside a character, before one.
func skipSpace(s string, at int) (int, match) {
	for at < len(s) {
		r, size := utf8.DecodeRuneInString(s[at:])
		if r == utf8.RuneError && !utf8.FullRuneInString(s[at:]) {
			return at, partial
		}
		if !unicode.IsSpace(r) {
			return at, matched
		}
		at += size
	}
	return at, partial
}

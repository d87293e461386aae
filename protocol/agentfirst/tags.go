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
	text = EscapeFrom(text)
	if speaker == reader {
		return text
	}
	return `<from agent="` + escapeAttr(speaker) + "\">\n" + text + "\n</from>"
}

// EscapeFrom makes every "<" that begins a from-tag, opening or closing, into
// "&lt;". It is for each text that enters a request, whoever wrote it.
func EscapeFrom(text string) string { return escapeTag(text, "from") }

// WrapSummary returns an archive's summary as the model is shown it.
func WrapSummary(archivedAt, summary string) string {
	return `<summary archived_at="` + escapeAttr(archivedAt) + "\">\n" +
		escapeTag(EscapeFrom(summary), "summary") + "\n</summary>"
}

// WrapData returns text of an untrusted source, marked as data. The text cannot
// close the mark or open another one.
func WrapData(source, text string) string {
	return `<data source="` + escapeAttr(source) + "\">\n" +
		escapeTag(EscapeFrom(text), "data") + "\n</data>"
}

var attrEscaper = strings.NewReplacer(
	"&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "\n", "&#10;", "\r", "&#13;")

func escapeAttr(s string) string { return attrEscaper.Replace(s) }

// escapeTag makes each "<" that begins <name or </name into "&lt;".
func escapeTag(text, name string) string {
	var out strings.Builder
	done := 0
	for at := 0; at < len(text); at++ {
		i := strings.IndexByte(text[at:], '<')
		if i < 0 {
			break
		}
		at += i
		if _, m := matchTagName(text[at:], name); m != matched {
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

// matchTagName tells whether s, which begins with "<", goes on with name in any
// case, after an optional "/", with white space allowed before and after the
// "/". end is where the name ends.
func matchTagName(s, name string) (end int, m match) {
	at, m := skipSpace(s, 1)
	if m == partial {
		return 0, partial
	}
	if s[at] == '/' {
		if at, m = skipSpace(s, at+1); m == partial {
			return 0, partial
		}
	}
	for i := range len(name) {
		if at+i == len(s) {
			return 0, partial
		}
		c := s[at+i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != name[i] {
			return 0, unmatched
		}
	}
	return at + len(name), matched
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

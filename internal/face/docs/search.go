package docs

import (
	"cmp"
	"html"
	"slices"
	"strings"
)

const (
	// maxFound is how many sections a search shows.
	maxFound = 30
	// around is how much of a section is shown with a word that was looked for.
	around = 140
)

// search lists the sections that have all words of a query, those with a word in their
// heading first.
func (lib *library) search(query string) string {
	words := strings.Fields(strings.ToLower(query))
	var b strings.Builder
	b.WriteString("<h1>Search</h1>")
	found := lib.find(words)
	if len(found) == 0 {
		b.WriteString("<p>Nothing has all of these words.</p>")
	}
	b.WriteString("<dl>")
	for _, s := range found[:min(len(found), maxFound)] {
		link := "/docs/" + s.page
		if s.id != "" {
			link += "#" + s.id
		}
		b.WriteString(`<dt><a href="` + html.EscapeString(link) + `">` + html.EscapeString(lib.pages[s.page].title+" · "+s.title) + "</a></dt><dd>" + html.EscapeString(snippet(s.text, words[0])) + "</dd>")
	}
	b.WriteString("</dl>")
	return b.String()
}

func (lib *library) find(words []string) []section {
	if len(words) == 0 {
		return nil
	}
	type hit struct {
		section
		score int
	}
	var hits []hit
	for _, s := range lib.sections {
		score := 0
		for _, w := range words {
			n := strings.Count(s.folded, w)
			if n == 0 {
				score = 0
				break
			}
			score += min(n, 5)
			if strings.Contains(strings.ToLower(s.title), w) {
				score += 20
			}
		}
		if score > 0 {
			hits = append(hits, hit{s, score})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	found := make([]section, len(hits))
	for i, h := range hits {
		found[i] = h.section
	}
	return found
}

// snippet is some of a text around a word.
func snippet(text, word string) string {
	runes := []rune(text)
	at := max(0, len([]rune(text[:max(0, min(len(text), strings.Index(strings.ToLower(text), word)))]))-around/2)
	end := min(len(runes), at+2*around)
	out := strings.TrimSpace(string(runes[at:end]))
	if end < len(runes) {
		out += " …"
	}
	return out
}

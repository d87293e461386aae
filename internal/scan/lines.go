package scan

import (
	"sort"

	"parley.internal/internal/fit"
	"parley.internal/internal/visible"
)

// lines is a text that knows where its lines end.
type lines struct {
	text   string
	breaks []int
}

func newLines(text string) lines {
	t := lines{text: text}
	for i := range len(text) {
		if text[i] == '\n' {
			t.breaks = append(t.breaks, i)
		}
	}
	return t
}

// at is the line of an offset.
func (t lines) at(offset int) int { return sort.SearchInts(t.breaks, offset) + 1 }

// collector lists each line once, and counts the lines beyond the limit.
type collector struct {
	sample Finding
	in     lines
	list   []Finding
	last   int
}

func (c *collector) add(start, end int) {
	line := c.in.at(start)
	if line == c.last {
		return
	}
	c.last = line
	if len(c.list) == maxPerRule {
		c.list[maxPerRule-1].More++
		return
	}
	f := c.sample
	f.Line, f.Excerpt = line, excerpt(c.in.text[start:end])
	c.list = append(c.list, f)
}

// maxExcerpt is how many characters of a match are shown beside it.
const maxExcerpt = 80

// excerpt shows a match so that nothing in it acts on a screen or hides.
func excerpt(s string) string { return visible.Line(fit.Clip(s, maxExcerpt)) }

package scan

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"parley.internal/internal/visible"
)

// kind is a sort of characters that are not seen as what they are.
type kind struct {
	rule, of string
	severity Severity
	text     string
	has      func(rune) bool
}

// characters finds whatever package visible writes out, each under the first kind
// that has it; the last has all.
func characters() []finder {
	between := func(ranges ...rune) func(rune) bool {
		return func(r rune) bool {
			for i := 0; i < len(ranges); i += 2 {
				if r >= ranges[i] && r <= ranges[i+1] {
					return true
				}
			}
			return false
		}
	}
	kinds := []kind{
		{"hidden-tag-characters", "hidden_text", Danger, "has tag characters, which spell text nobody sees", between(0xE0000, 0xE00FF)},
		{"variation-selectors", "variation_selector", Danger, "has variation selectors where nothing varies, which can spell text nobody sees", between(0xFE00, 0xFE0F, 0xE0100, 0xE01EF, 0x180B, 0x180F)},
		{"bidi", "bidi", Danger, "changes the direction of writing, so that it reads otherwise than it is", between(0x200E, 0x200F, 0x202A, 0x202E, 0x2066, 0x206F, 0x061C, 0x061C)},
		{"ansi", "ansi", Danger, "has terminal control sequences", between(0x1B, 0x1B, 0x9B, 0x9B)},
		{"control", "ansi", Warn, "has control characters", unicode.IsControl},
		{"zero-width", "zero_width", Warn, "has characters without width", between(0x200B, 0x200D, 0x2060, 0x2065, 0xFEFF, 0xFEFF, 0xAD, 0xAD, 0x034F, 0x034F)},
		{"odd-spaces", "odd_space", Note, "has blanks that are no spaces", unicode.IsSpace},
		{"invisible", "invisible", Warn, "has characters that are drawn as nothing, or as anything", func(rune) bool { return true }},
	}
	out := make([]finder, len(kinds))
	for i := range kinds {
		out[i] = &character{kind: kinds[i], before: kinds[:i]}
	}
	return out
}

type character struct {
	kind
	before []kind
}

func (c *character) family() string { return c.of }

func (c *character) find(in texts) []Finding {
	found := collector{sample: Finding{Rule: c.rule, Family: c.of, Severity: c.severity, Text: c.text}, in: in.raw}
	visible.Each(in.raw.text, func(at int, r rune) {
		if c.mine(r) {
			found.add(around(in.raw.text, at, at+utf8.RuneLen(r)))
		}
	})
	return found.list
}

func (c *character) mine(r rune) bool {
	for _, other := range c.before {
		if other.has(r) {
			return false
		}
	}
	return c.has(r)
}

// maxAround is how much of the line is shown on each side of a character.
const maxAround = 24

// around is the place of a character with a little of its line: alone it says nothing.
func around(text string, start, end int) (int, int) {
	first := max(start-maxAround, strings.LastIndexByte(text[:start], '\n')+1)
	for ; first < start && !utf8.RuneStart(text[first]); first++ {
	}
	last := min(end+maxAround, len(text))
	if i := strings.IndexByte(text[end:], '\n'); i >= 0 {
		last = min(last, end+i)
	}
	for ; last < len(text) && last > end && !utf8.RuneStart(text[last]); last-- {
	}
	return first, last
}

package visible

import (
	"strings"
	"unicode"
)

const (
	nonJoiner   = '\u200C'
	joiner      = '\u200D'
	textStyle   = '\uFE0E'
	emojiStyle  = '\uFE0F'
	keycap      = '\u20E3'
	noBreak     = '\u00A0'
	thinNoBreak = '\u202F'
)

// neighbour is the drawn sign before a character.
type neighbour struct {
	base rune
	// styled tells that the sign has its variation selector. A second one would
	// draw nothing, and rows of them spell hidden texts.
	styled bool
}

// pass goes on behind a character that stays.
func (n *neighbour) pass(r rune) {
	if r == textStyle || r == emojiStyle {
		n.styled = true
		return
	}
	*n = neighbour{base: r}
}

// carries tells that a hidden character is part of a drawn sign.
func (n neighbour) carries(r, next rune) bool {
	switch r {
	case textStyle, emojiStyle:
		return !n.styled && (pictograph(n.base) || next == keycap && strings.ContainsRune("0123456789#*", n.base))
	case joiner:
		return pictograph(n.base) && pictograph(next) || joins(n.base) && joins(next)
	case nonJoiner:
		return joins(n.base) && joins(next)
	case noBreak, thinNoBreak:
		return n.base >= '0' && n.base <= '9' || n.base == '«' || strings.ContainsRune("?!:;»%€", next)
	}
	return false
}

func pictograph(r rune) bool { return unicode.Is(pictographs, r) }

func joins(r rune) bool { return unicode.Is(joining, r) }

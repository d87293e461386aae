package visible

import "unicode"

// hidden are the characters that are written out. It is a list of our own, not
// Unicode's categories: the page must have the same, whatever version its browser knows.
var hidden = &unicode.RangeTable{
	LatinOffset: 3,
	R16: []unicode.Range16{
		{0x0000, 0x0008, 1}, {0x000B, 0x001F, 1}, {0x007F, 0x00A0, 1}, // C0, C1, no-break space
		{0x00AD, 0x00AD, 1}, {0x034F, 0x034F, 1}, {0x061C, 0x061C, 1}, // soft hyphen, grapheme joiner, Arabic mark
		{0x115F, 0x1160, 1}, {0x1680, 0x1680, 1}, {0x17B4, 0x17B5, 1}, {0x180B, 0x180F, 1}, // fillers, Ogham space, vowels and selectors not drawn
		{0x2000, 0x200F, 1}, {0x2028, 0x202F, 1}, {0x205F, 0x206F, 1}, // spaces, zero widths, separators, directions
		{0x2800, 0x2800, 1}, {0x3164, 0x3164, 1}, // the blank of Braille, a filler
		{0xD800, 0xF8FF, 1},                                                                // halves of characters, private use
		{0xFE00, 0xFE0F, 1}, {0xFEFF, 0xFEFF, 1}, {0xFFA0, 0xFFA0, 1}, {0xFFF0, 0xFFFB, 1}, // variation selectors, byte order mark, fillers
	},
	R32: []unicode.Range32{
		{0x13430, 0x1343F, 1}, {0x16FE4, 0x16FE4, 1}, {0x1BCA0, 0x1BCA3, 1}, {0x1D159, 0x1D159, 1}, {0x1D173, 0x1D17A, 1}, // formats of rare scripts
		{0xE0000, 0xE0FFF, 1},                          // tags, more variation selectors
		{0xF0000, 0xFFFFD, 1}, {0x100000, 0x10FFFD, 1}, // private use
	},
}

// pictographs may carry a variation selector and be joined.
var pictographs = &unicode.RangeTable{
	LatinOffset: 2,
	R16: []unicode.Range16{
		{0x00A9, 0x00A9, 1},
		{0x00AE, 0x00AE, 1},
		{0x203C, 0x203C, 1},
		{0x2049, 0x2049, 1},
		{0x2122, 0x2122, 1},
		{0x2139, 0x2139, 1},
		{0x2190, 0x21FF, 1},
		{0x2300, 0x23FF, 1},
		{0x24C2, 0x24C2, 1},
		{0x25A0, 0x27BF, 1},
		{0x2900, 0x297F, 1},
		{0x2B00, 0x2BFF, 1},
		{0x3030, 0x303D, 1},
		{0x3297, 0x3299, 1},
	},
	R32: []unicode.Range32{{0x1F000, 0x1FAFF, 1}},
}

// joining are scripts whose letters a joiner or non-joiner between them draws
// otherwise: Arabic and Syriac, and those of India.
var joining = &unicode.RangeTable{R16: []unicode.Range16{{0x0620, 0x074F, 1}, {0x0900, 0x0DFF, 1}}}

// Hidden reports whether a character is written out wherever it does not belong to
// a sign that is drawn; see [Text].
func Hidden(r rune) bool { return unicode.Is(hidden, r) }

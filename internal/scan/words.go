package scan

import (
	"unicode"
	"unicode/utf8"
)

// words finds words that are not written in the letters they seem to be written in.
type words struct{}

func (words) family() string { return "look_alike" }

func (w words) find(in texts) []Finding {
	found := collector{in: in.raw, sample: Finding{
		Rule: "look-alike", Family: w.family(), Severity: Warn, Text: "has a word in letters that only look like others, so that it reads as something it is not",
	}}
	english := mostlyLatin(in.raw.text)
	eachWord(in.raw.text, func(start, end int) {
		if deceives(in.raw.text[start:end], english) {
			found.add(start, end)
		}
	})
	return found.list
}

// eachWord calls what for every run of letters and their marks.
func eachWord(text string, what func(start, end int)) {
	start := -1
	for i, r := range text {
		inside := unicode.IsLetter(r) || unicode.IsMark(r) || disguised(r)
		switch {
		case inside && start < 0:
			start = i
		case !inside && start >= 0:
			what(start, i)
			start = -1
		}
	}
	if start >= 0 {
		what(start, len(text))
	}
}

// deceives tells that a word has disguised letters, mixes ours with look-alikes, or,
// in a text that is otherwise in our letters, consists of look-alikes alone.
func deceives(word string, english bool) bool {
	latin, alike, other := 0, 0, 0
	for _, r := range word {
		switch {
		case disguised(r):
			return true
		case lookalikes[r] != 0:
			alike++
		case unicode.Is(unicode.Latin, r):
			latin++
		case unicode.In(r, unicode.Cyrillic, unicode.Armenian, unicode.Cherokee):
			other++
		}
	}
	return latin > 0 && (alike > 0 || other > 0) || english && alike > 1 && other == 0 && alike == utf8.RuneCountInString(word)
}

// mostlyLatin tells that more than half of a text is in our letters.
func mostlyLatin(text string) bool {
	latin, all := 0, 0
	for _, r := range text {
		if unicode.IsLetter(r) {
			all++
			if unicode.Is(unicode.Latin, r) {
				latin++
			}
		}
	}
	return latin*2 > all
}

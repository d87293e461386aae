package skill

import (
	"slices"
	"strings"
)

// maxDiffLines bounds the table below: skills are at most 100,000 bytes, but a
// hostile one may be 100,000 line breaks.
const maxDiffLines = 2000

// Diff shows what changed between two texts, a line each: "-" gone, "+" new, " "
// the same, and "…" for a run of lines that are the same.
func Diff(before, after string) string {
	a, b := strings.Split(before, "\n"), strings.Split(after, "\n")
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
	}
	end := 0
	for end < len(a)-start && end < len(b)-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	middleA, middleB := a[start:len(a)-end], b[start:len(b)-end]
	if len(middleA) == 0 && len(middleB) == 0 {
		return ""
	}
	var out strings.Builder
	same(&out, a[:start], true, false)
	if len(middleA) > maxDiffLines || len(middleB) > maxDiffLines {
		lines(&out, "-", middleA)
		lines(&out, "+", middleB)
	} else {
		longest(&out, middleA, middleB)
	}
	same(&out, a[len(a)-end:], false, true)
	return out.String()
}

// around is how many equal lines are shown beside a change.
const around = 3

func same(out *strings.Builder, equal []string, leading, trailing bool) {
	switch {
	case len(equal) > around && leading:
		out.WriteString("…\n")
		lines(out, " ", equal[len(equal)-around:])
	case len(equal) > around && trailing:
		lines(out, " ", equal[:around])
		out.WriteString("…\n")
	default:
		lines(out, " ", equal)
	}
}

func lines(out *strings.Builder, mark string, all []string) {
	for _, line := range all {
		out.WriteString(mark + line + "\n")
	}
}

// longest walks the longest common run of lines.
func longest(out *strings.Builder, a, b []string) {
	table := make([][]int32, len(a)+1)
	for i := range table {
		table[i] = make([]int32, len(b)+1)
	}
	for i, was := range slices.Backward(a) {
		for j, is := range slices.Backward(b) {
			if was == is {
				table[i][j] = table[i+1][j+1] + 1
			} else {
				table[i][j] = max(table[i+1][j], table[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			lines(out, " ", a[i:i+1])
			i, j = i+1, j+1
		case table[i+1][j] >= table[i][j+1]:
			lines(out, "-", a[i:i+1])
			i++
		default:
			lines(out, "+", b[j:j+1])
			j++
		}
	}
	lines(out, "-", a[i:])
	lines(out, "+", b[j:])
}

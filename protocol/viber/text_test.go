package viber_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"parley.internal/protocol/viber"
)

// spell gives all the text of raw bytes that come in pieces of the given sizes.
func spell(t interface{ Errorf(string, ...any) }, raw []byte, sizes []int) string {
	var out strings.Builder
	s := viber.NewTextSplitter(100)
	last := int64(100)
	take := func(chunks []viber.Chunk) {
		for _, c := range chunks {
			if !utf8.ValidString(c.Data) || c.Data == "" || len(c.Data) > viber.MaxTerminalData || c.Offset <= last {
				t.Errorf("chunk %.40q at %d after %d", c.Data, c.Offset, last)
			}
			last = c.Offset
			out.WriteString(c.Data)
		}
	}
	fed := 0
	for _, n := range append(sizes, len(raw)) {
		n = min(n, len(raw)-fed)
		take(s.Push(raw[fed : fed+n]))
		fed += n
		if held := 100 + int64(fed) - s.Offset(); held < 0 || held > 3 {
			t.Errorf("%d bytes held back", held)
		}
	}
	take(s.Flush())
	if last != 100+int64(len(raw)) || s.Offset() != last {
		t.Errorf("ended at %d of %d", last, len(raw))
	}
	return out.String()
}

func TestAnyChunkingGivesTheSameText(t *testing.T) {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{"a", "é", "€", "👋", "\x80", "\xc3", "\xe2\x82", "\xf0\x9f\x91", "\xff", "\xed\xa0\x80", "\xc0\x80", "\r\n", "\x1b[1m"}),
		rapid.StringN(0, 5, -1),
	)
	rapid.Check(t, func(t *rapid.T) {
		raw := []byte(strings.Join(rapid.SliceOfN(piece, 0, 40).Draw(t, "raw"), ""))
		sizes := rapid.SliceOfN(rapid.IntRange(0, 7), 0, 60).Draw(t, "sizes")
		want := string([]rune(string(raw))) // Go's own reading: U+FFFD for each impossible byte
		if got := spell(t, raw, sizes); got != want {
			t.Errorf("%q became %q, want %q", raw, got, want)
		}
	})
}

func TestLargeOutputComesInFrames(t *testing.T) {
	for _, unit := range []string{"x", "é", "👋", "\xff"} {
		raw := []byte("a" + strings.Repeat(unit, 3*viber.MaxTerminalData/len(unit)))
		if got := spell(t, raw, nil); got != string([]rune(string(raw))) {
			t.Errorf("%q: %d bytes", unit, len(got))
		}
	}
}

func FuzzTextSplitter(f *testing.F) {
	f.Add([]byte("a\xe2\x82\xacb\xe2\x82"), []byte{1, 1, 0, 2})
	f.Add([]byte("\xf0\x9f\xf0\x9f\x91\x8b\xff"), []byte{3, 3})
	f.Fuzz(func(t *testing.T, raw, cuts []byte) {
		sizes := make([]int, len(cuts))
		for i, c := range cuts {
			sizes[i] = int(c)
		}
		if got := spell(t, raw, sizes); got != string([]rune(string(raw))) {
			t.Errorf("%q became %q", raw, got)
		}
	})
}

func TestScrollbackIsCutWhereItLooksRight(t *testing.T) {
	image := "\x1bPq" + strings.Repeat("#\n", 20) + "\x1b\\"
	for _, c := range []struct {
		buf  string
		keep int
		want string
	}{
		{"one\ntwo\nthree", 100, "one\ntwo\nthree"},
		{"one\ntwo\nthree", 13, "one\ntwo\nthree"},
		{"one\ntwo\nthree", 12, "two\nthree"},
		{"one\ntwo\nthree", 9, "two\nthree"},
		{"one\ntwo\nthree", 8, "three"},
		{"no line at all", 3, "all"},
		{"grüße", 5, "üße"},
		{"grüße", 4, "ße"},
		{"a\x1b[38;5;1mred", 8, "red"},
		{"a\x1b[38;5;1m", 3, ""},
		{"a\x1b]0;title\x07b", 4, "b"},
		{"a\x1b]0;title\x1b\\b", 4, "b"},
		{"a\x1b]8;;http://x\ny\x1b\\b", 9, "b"},
		{"a\x1b(Bb", 2, "b"},
		{image + "x\ny", 30, "y"},
		{image + "xy", 30, "xy"},
		{"a\x1b[1\x18b\nc", 4, "c"},
		{"a\x1b]0;t\x1b[1mbold", 5, "bold"},
	} {
		cut := viber.TrimPoint([]byte(c.buf), c.keep)
		if got := c.buf[cut:]; got != c.want {
			t.Errorf("%q kept to %d: %q, want %q", c.buf, c.keep, got, c.want)
		}
	}
}

func TestScrollbackKeepsTheEnd(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a", "line\n", "é", "\x1b[31m", "\x1b]0;long title\x07", "\x1bPimage\nimage\x1b\\", "\n", "word "})
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(piece, 0, 60).Draw(t, "parts")
		raw := []byte(strings.Join(parts, ""))
		starts := map[int]bool{len(raw): true} // where a part begins, it is safe to cut
		at := 0
		for _, p := range parts {
			for i := range p {
				if i == 0 || p[0] != '\x1b' {
					starts[at+i] = true
				}
			}
			at += len(p)
		}
		limit := rapid.IntRange(1, 40).Draw(t, "limit")
		s := viber.NewScrollback(limit)
		for rest := raw; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			s.Append(rest[:n])
			rest = rest[n:]
		}
		kept := s.Bytes()
		if len(kept) > limit || !bytes.HasSuffix(raw, kept) || s.End() != int64(len(raw)) || s.Start() != int64(len(raw)-len(kept)) {
			t.Fatalf("%q kept as %q", raw, kept)
		}
		if !starts[len(raw)-len(kept)] {
			t.Fatalf("%q cut inside a sequence: %q", raw, kept)
		}
		if s.Truncated() != (len(kept) < len(raw)) {
			t.Fatalf("truncated: %v", s.Truncated())
		}
	})
}

func TestASequenceLongerThanTheScrollbackLeavesNothingBehind(t *testing.T) {
	s := viber.NewScrollback(16)
	s.Append([]byte("before\n\x1bPq"))
	for range 10 {
		s.Append([]byte("##########\n"))
	}
	if got := string(s.Bytes()); got != "" {
		t.Errorf("%q; want \"\"", got)
	}
	s.Append([]byte("###\x1b\\after\n"))
	if got := string(s.Bytes()); got != "after\n" || s.Start() != s.End()-6 {
		t.Errorf("%q", got)
	}
}

func TestNeighbouringTextIsMerged(t *testing.T) {
	text := func(seq int64, turn int, s string) *viber.TaskDelta {
		return &viber.TaskDelta{TaskRef: viber.TaskRef{TaskID: "t", Seq: seq, Turn: turn}, DeltaType: viber.DeltaText, Text: s}
	}
	call := func(seq int64) *viber.TaskDelta {
		return &viber.TaskDelta{TaskRef: viber.TaskRef{TaskID: "t", Seq: seq, Turn: 1}, DeltaType: viber.DeltaToolCall}
	}
	merged := text(4, 1, "abc")
	merged.FromSeq = 2
	again := text(5, 1, "abcd")
	again.FromSeq = 2
	other := text(6, 1, "x")
	other.TaskID = "u"
	big := text(4, 1, "cde")
	big.FromSeq = 3
	for name, c := range map[string]struct {
		in, want []*viber.TaskDelta
		max      int
	}{
		"nothing":          {nil, []*viber.TaskDelta{}, 9},
		"one":              {[]*viber.TaskDelta{text(2, 1, "a")}, []*viber.TaskDelta{text(2, 1, "a")}, 9},
		"neighbours":       {[]*viber.TaskDelta{text(2, 1, "a"), text(3, 1, "b"), text(4, 1, "c")}, []*viber.TaskDelta{merged}, 9},
		"merged before":    {[]*viber.TaskDelta{merged, text(5, 1, "d")}, []*viber.TaskDelta{again}, 9},
		"another turn":     {[]*viber.TaskDelta{text(2, 1, "a"), text(3, 2, "b")}, []*viber.TaskDelta{text(2, 1, "a"), text(3, 2, "b")}, 9},
		"a call between":   {[]*viber.TaskDelta{text(2, 1, "a"), call(3), text(4, 1, "b")}, []*viber.TaskDelta{text(2, 1, "a"), call(3), text(4, 1, "b")}, 9},
		"an event between": {[]*viber.TaskDelta{text(2, 1, "a"), text(4, 1, "b")}, []*viber.TaskDelta{text(2, 1, "a"), text(4, 1, "b")}, 9},
		"another task":     {[]*viber.TaskDelta{text(5, 1, "a"), other}, []*viber.TaskDelta{text(5, 1, "a"), other}, 9},
		"too long":         {[]*viber.TaskDelta{text(2, 1, "abx"), text(3, 1, "c"), text(4, 1, "de")}, []*viber.TaskDelta{text(2, 1, "abx"), big}, 3},
	} {
		if diff := cmp.Diff(c.want, viber.MergeText(c.in, c.max)); diff != "" {
			t.Errorf("%s: %s; want no difference", name, diff)
		}
	}
}

func TestMergingLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var in []*viber.TaskDelta
		for i := range rapid.IntRange(0, 30).Draw(t, "n") {
			d := &viber.TaskDelta{TaskRef: viber.TaskRef{TaskID: "t", Seq: int64(i + 1), Turn: 1 + i/rapid.IntRange(5, 9).Draw(t, "turns")}, DeltaType: viber.DeltaText}
			d.Text = rapid.StringN(0, 4, -1).Draw(t, "text")
			in = append(in, d)
		}
		var before, after string
		for _, d := range in {
			before += d.Text
		}
		next := int64(1)
		for _, d := range viber.MergeText(in, 12) {
			if d.FirstSeq() != next {
				t.Fatalf("hole before %d", d.FirstSeq())
			}
			next = d.Seq + 1
			after += d.Text
		}
		if before != after || next != int64(len(in)+1) {
			t.Fatalf("%q became %q", before, after)
		}
	})
}

func TestFragmentsBecomeArguments(t *testing.T) {
	var j viber.ArgumentJoiner[int]
	for _, f := range []struct {
		key                int
		id, name, fragment string
	}{{1, "c1", "shell", `{"comm`}, {0, "c0", "file_read", ""}, {1, "", "", `and":"ls"}`}, {0, "", "", `{}`}} {
		if err := j.Add(f.key, f.id, f.name, f.fragment); err != nil {
			t.Fatal(err)
		}
	}
	want := []viber.ToolCallDelta{{ID: "c1", Name: "shell", Arguments: `{"command":"ls"}`}, {ID: "c0", Name: "file_read", Arguments: `{}`}}
	if diff := cmp.Diff(want, j.Calls()); diff != "" {
		t.Error(diff)
	}
	if err := j.Add(1, "", "", strings.Repeat("x", viber.MaxFrame)); !errors.Is(err, viber.ErrArgumentsTooLarge) {
		t.Error(err)
	}
	for in, want := range map[string]string{"": "{}", " \n": "{}", `{"a":1}`: `{"a":1}`} {
		if got, err := viber.ParseArguments(in); err != nil || string(got) != want {
			t.Errorf("%q: %s, %v; want no error, string(got) to be %v", in, got, err, want)
		}
	}
	for _, bad := range []string{`[]`, `"x"`, `{`, `{"a":1,"a":2}`, `{}{}`, `null`} {
		if _, err := viber.ParseArguments(bad); !errors.Is(err, viber.ErrBadArguments) {
			t.Errorf("%q: %v; want viber.ErrBadArguments", bad, err)
		}
	}
}

func TestArgumentsAreSplitOnlyWhenLarge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Repeat(rapid.StringN(1, 3, -1).Draw(t, "unit"), rapid.IntRange(0, 8000).Draw(t, "n"))
		parts := viber.SplitArguments(text)
		if strings.Join(parts, "") != text || len(text) <= viber.WholeArguments && len(parts) != 1 {
			t.Fatalf("%d parts of %d bytes", len(parts), len(text))
		}
		for _, p := range parts {
			if len(p) > viber.WholeArguments || !utf8.ValidString(p) {
				t.Fatalf("part of %d bytes", len(p))
			}
		}
	})
}

// wholeSummary is Summary as one would say it, whatever the length.
func wholeSummary(text string) string {
	first, _, _ := strings.Cut(strings.ReplaceAll(strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD")), "\r\n", "\n"), "\n\n")
	line := strings.Join(strings.Fields(first), " ")
	runes := []rune(line)
	for i, r := range runes {
		last := i+1 == len(runes)
		if strings.ContainsRune("。！？", r) || strings.ContainsRune(".!?…", r) && (last || runes[i+1] == ' ') {
			runes = runes[:i+1]
			break
		}
	}
	if len(runes) <= viber.MaxSummary {
		return string(runes)
	}
	cut := viber.MaxSummary - 1
	for c := cut; c > viber.MaxSummary/2; c-- {
		if unicode.IsSpace(runes[c]) {
			cut = c
			break
		}
	}
	return string(runes[:cut]) + "…"
}

func TestSummaryLooksNoFurtherThanItMust(t *testing.T) {
	words := rapid.SampledFrom([]string{"a", "word", "v1.2", "end.", "\xff", "é", "次。", " ", "  ", "\n", "\r\n", "\n\n", "…", "?", strings.Repeat("x", 97), strings.Repeat("終", 203)})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(words, 0, 90).Draw(t, "words"), rapid.SampledFrom([]string{"", " "}).Draw(t, "between"))
		if got, want := viber.Summary(text), wholeSummary(text); got != want {
			t.Fatalf("%q: %q, want %q", text, got, want)
		}
	})
}

func TestSummaryIsTheFirstSentence(t *testing.T) {
	words := strings.Repeat("word ", 60)
	for in, want := range map[string]string{
		"":                               "",
		"  \n ":                          "",
		"Done.":                          "Done.",
		"Done. And more.":                "Done.",
		"Use v1.2 now! Then rest":        "Use v1.2 now!",
		"First line\nsecond. Third":      "First line second.",
		"# Heading\n\nText. More":        "# Heading",
		"終わり。次":                          "終わり。",
		"No end":                         "No end",
		"bad \xff byte. x":               "bad \uFFFD byte.",
		words:                            strings.TrimSpace(strings.Repeat("word ", 40)) + "…",
		strings.Repeat("x", 200):         strings.Repeat("x", 200),
		strings.Repeat("é", 201):         strings.Repeat("é", 199) + "…",
		"Wait… what? Yes.":               "Wait…",
		"Is it?\r\n\r\nIt is. Certainly": "Is it?",
	} {
		if got := viber.Summary(in); got != want {
			t.Errorf("%.40q: %q, want %q", in, got, want)
		}
		if n := utf8.RuneCountInString(viber.Summary(in)); n > viber.MaxSummary {
			t.Errorf("%.40q: %d characters", in, n)
		}
	}
}

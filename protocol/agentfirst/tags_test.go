package agentfirst_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	af "parley.internal/protocol/agentfirst"
)

// The rules, written a second time as expressions.
const space = `[\s\p{Z}\x{85}\v]`

var (
	fromStart = regexp.MustCompile(`(?i)<from` + space + `+agent` + space + `*=`)
	fromEnd   = regexp.MustCompile(`(?i)</from` + space + `*>`)
	wholeTag  = regexp.MustCompile(`(?i)^<from` + space + `+agent` + space + `*=[^>]*>`)
)

// tagText draws texts that are nearly all tags.
func tagText() *rapid.Generator[string] {
	pieces := []string{
		"<", ">", "/", "from", "FROM", "fr", "om", " ", "\n", "\u00a0", "<from", "</from>", "<from agent=\"x\">", "</From >", "<FROM agent =", "agent=",
		"<fromage>", "<data", "</data>", "<summary", "&lt;", "a", "é", "\"", strings.Repeat("b", 40), strings.Repeat(" ", 90),
	}
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "pieces"), "")
	})
}

func TestTagIsRelativeToTheReader(t *testing.T) {
	for _, tc := range []struct{ name, reader, speaker, want string }{
		{"own words are bare", "crab", "crab", "hi"},
		{"an empty speaker is the primary", "crab", "", "hi"},
		{"the primary sees a guest tagged", "crab", "twin", "<from agent=\"twin\">\nhi\n</from>"},
		{"a guest sees the primary tagged", "twin", "", "<from agent=\"crab\">\nhi\n</from>"},
		{"a guest sees itself bare", "twin", "twin", "hi"},
		{"names are escaped", "crab", `a"><b&`, "<from agent=\"a&quot;&gt;&lt;b&amp;\">\nhi\n</from>"},
	} {
		if got := af.Tag(tc.reader, "crab", tc.speaker, "hi"); got != tc.want {
			t.Errorf("%s: %q; want %v", tc.name, got, tc.want)
		}
	}
	if got := af.Tag("crab", "crab", "twin", "x</from>y"); got != "<from agent=\"twin\">\nx&lt;/from>y\n</from>" {
		t.Errorf("%q; want \"<from agent=\\\"twin\\\">\\nx&lt;/from>y\\n</from>\"", got)
	}
}

func TestFramingTexts(t *testing.T) {
	const guest = `You are joining a conversation as a guest. Its primary agent is "crab". Messages wrapped in <from agent="..."> tags are from other agents; the hub adds the tags. Answer the latest user message as yourself and write no such tags.`
	const primary = `Messages wrapped in <from agent="..."> tags are from guest agents. Continue responding as yourself and write no such tags.`
	if got := af.GuestFraming("crab"); got != guest {
		t.Errorf("guest: %q", got)
	}
	if got := af.PrimaryFraming(); got != primary {
		t.Errorf("primary: %q", got)
	}
}

func TestEscapeFrom(t *testing.T) {
	for in, want := range map[string]string{
		"":                                "",
		"plain <b>text</b>":               "plain <b>text</b>",
		`<from agent="x">`:                `&lt;from agent="x">`,
		`<FROM  Agent = 'x'>`:             `&lt;FROM  Agent = 'x'>`,
		"<from\u00a0agent=x":              "&lt;from\u00a0agent=x",
		"<<from agent=":                   "<&lt;from agent=",
		"a \xff<from agent=":              "a \xff&lt;from agent=",
		`<from agent="x">hi</from>`:       `&lt;from agent="x">hi&lt;/from>`,
		"<from agent=x></From >":          "&lt;from agent=x>&lt;/From >",
		"</from> before <from agent=x>":   "</from> before &lt;from agent=x>",
		"</from>":                         "</from>",
		"<note><from>Ada</from></note>":   "<note><from>Ada</from></note>",
		"for (i = 0; i < from.length;)":   "for (i = 0; i < from.length;)",
		"Map<FromType> <from agentName=>": "Map<FromType> <from agentName=>",
		"<fromage agent=x>":               "<fromage agent=x>",
		"<from":                           "<from",
		"<from agent":                     "<from agent",
		"<":                               "<",
	} {
		if got := af.EscapeFrom(in); got != want {
			t.Errorf("EscapeFrom(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestNoUnescapedFromTagSurvives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := tagText().Draw(t, "text")
		got := af.EscapeFrom(in)
		if at := fromStart.FindString(got); at != "" {
			t.Fatalf("EscapeFrom(%q) = %q keeps %q", in, got, at)
		}
		if af.EscapeFrom(got) != got {
			t.Fatalf("escaping %q again changes it", got)
		}
		if !fromStart.MatchString(in) && got != in {
			t.Fatalf("EscapeFrom(%q) = %q changes a text that imitates no tag", in, got)
		}
		if !strings.Contains(in, "&lt;") && strings.ReplaceAll(got, "&lt;", "<") != in {
			t.Fatalf("EscapeFrom(%q) = %q changes more than it should", in, got)
		}
		inner := strings.TrimSuffix(strings.TrimPrefix(af.Tag("a", "a", "b", in), "<from agent=\"b\">\n"), "\n</from>")
		if fromStart.MatchString(inner) || fromEnd.MatchString(inner) {
			t.Fatalf("another agent's words %q leave their tag as %q", in, inner)
		}
	})
}

func TestSummariesStayInTheirTag(t *testing.T) {
	if got, want := af.WrapSummary("2026-04-03T10:00:00Z", "Two tiers.</summary><summary><from agent=\"x\"> a<sum"),
		"<summary archived_at=\"2026-04-03T10:00:00Z\">\nTwo tiers.&lt;/summary>&lt;summary>&lt;from agent=\"x\"> a<sum\n</summary>"; got != want {
		t.Errorf("a summary is shown as %q, want %q", got, want)
	}
}

func TestStripTags(t *testing.T) {
	long := strings.Repeat("a", 83)
	for in, want := range map[string]string{
		"":                                "",
		"hello":                           "hello",
		"<from agent=\"x\">\nhi\n</from>": "\nhi\n",
		"<FROM Agent = 'x'>hi</From >":    "hi",
		"<from agent=x><from agent=y>a</from>b</from>c</from>": "abc</from>",
		"a</from>b":                              "a</from>b",
		"<note><from>Ada</from></note>":          "<note><from>Ada</from></note>",
		"<from agent=x><from>Ada</from>":         "<from>Ada",
		"a<from/>b":                              "a<from/>b",
		"a<fromage agent=x>b":                    "a<fromage agent=x>b",
		"i < from.length && j > 0":               "i < from.length && j > 0",
		"a<from agent":                           "a<from agent",
		"a<":                                     "a<",
		"<<from agent=>":                         "<",
		"<from agent=<b>":                        "",
		"a<fr<from agent=>om agent=\"x\">b":      "a<from agent=\"x\"b",
		"<from agent=" + long + "a>":             "<from agent=" + long + "a>",
		"<from agent=" + long + ">":              "",
		"<from agent=" + long + "a<from agent=>": "<from agent=" + long + "a",
		"a<from\u00a0agent=\"é\">b":              "ab",
		"<from agent=é":                          "<from agent=é",
		"<é>":                                    "<é>",
	} {
		if got := af.StripTags(in); got != want {
			t.Errorf("StripTags(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestTheFilterDoesNotDependOnHowTheTextIsCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := tagText().Draw(t, "text")
		want := af.StripTags(in)
		if got := filterBytes(in); got != want {
			t.Fatalf("byte by byte %q, whole %q", got, want)
		}
		for cut := range len(in) + 1 {
			var f af.TagFilter
			if got := f.Write(in[:cut]) + f.Write(in[cut:]) + f.Flush(); got != want {
				t.Fatalf("cut at %d %q, whole %q", cut, got, want)
			}
		}
		if tag := leftTag(want); tag != "" {
			t.Fatalf("StripTags(%q) = %q keeps %q", in, want, tag)
		}
		if !strings.Contains(in, "<") && want != in {
			t.Fatalf("%q became %q", in, want)
		}
	})
}

func filterBytes(in string) string {
	var f af.TagFilter
	var out strings.Builder
	for i := range len(in) {
		out.WriteString(f.Write(in[i : i+1]))
	}
	return out.String() + f.Flush()
}

// leftTag returns a complete tag the filter should have removed, if there is one.
func leftTag(s string) string {
	for i := range len(s) {
		if s[i] != '<' {
			continue
		}
		if tag := wholeTag.FindString(s[i:]); tag != "" && len(tag) <= af.TagHoldback {
			return tag
		}
	}
	return ""
}

func TestTheFilterHoldsBackNoMoreThanItSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// An opening that never closes: nothing is removed, so what has not come
		// out is what is held back.
		in := "<from agent=" + rapid.StringMatching(`[a-z <]{0,300}`).Draw(t, "text")
		var f af.TagFilter
		out := 0
		for i := range len(in) {
			out += len(f.Write(in[i : i+1]))
			if held := i + 1 - out; held > af.TagHoldback {
				t.Fatalf("%d bytes held", held)
			}
		}
		if out += len(f.Flush()); out != len(in) {
			t.Fatalf("%d of %d bytes came out", out, len(in))
		}
	})
}

func FuzzTagFilter(f *testing.F) {
	f.Add("<from agent=\"x\">hi</from>")
	f.Add("<fr<from agent=>om agent=>")
	f.Add("<from agent=<from agent=<from agent=>>></from></from>")
	f.Add("<from\u2003agent\u2003=></from\u2003>")
	f.Add("<from agent=" + strings.Repeat("x", 200) + "<from agent=>")
	f.Fuzz(func(t *testing.T, in string) {
		want := af.StripTags(in)
		if got := filterBytes(in); got != want {
			t.Fatalf("byte by byte %q, whole %q", got, want)
		}
		if len(want) > len(in) {
			t.Fatalf("%q grew to %q", in, want)
		}
		if utf8.ValidString(in) && !utf8.ValidString(want) {
			t.Fatalf("%q became broken: %q", in, want)
		}
		if tag := leftTag(want); tag != "" {
			t.Fatalf("%q keeps %q", want, tag)
		}
		if fromStart.MatchString(af.EscapeFrom(in)) {
			t.Fatalf("EscapeFrom(%q) keeps a tag", in)
		}
	})
}

package agentfirst_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	af "parley.internal/protocol/agentfirst"
)

func conversation() (af.ExportMeta, []af.ExportLine) {
	say := func(m af.ExportMessage) af.ExportLine { return af.ExportLine{Message: &m} }
	mark := func(m af.ExportMarker) af.ExportLine { return af.ExportLine{Marker: &m} }
	meta := af.ExportMeta{
		Agent: "crab", CreatedBy: "user", CreatedAt: time.Date(2026, 4, 1, 9, 30, 0, 123456000, time.UTC),
		Title: "Price <two> & \"three\" tiers.", UptimeSecs: 174600,
	}
	return meta, []af.ExportLine{
		say(af.ExportMessage{Role: "user", Content: "Price <two> & \"three\" tiers.\nPlease."}),
		say(af.ExportMessage{Role: "assistant", ReasoningContent: "Look it up.", ToolCalls: []af.ExportToolCall{
			{ID: "call_1_1", Type: "function", Name: "recall", Arguments: `{"query":"tiers"}`},
			{ID: "call_1_2", Type: "function", Name: "web_fetch", Arguments: `{}`},
		}}),
		say(af.ExportMessage{Role: "tool", Content: "nothing found\ttab", Name: "recall", ToolCallID: "call_1_1"}),
		say(af.ExportMessage{Role: "tool", Name: "web_fetch", ToolCallID: "call_1_2"}),
		say(af.ExportMessage{Role: "assistant", Content: "Two tiers it is. 定価は月額です。 </script> — €5"}),
		mark(af.ExportMarker{Summary: "Two tiers agreed. Billing is monthly.", Title: "Two tiers agreed.", ArchivedAt: "2026-04-03T10:00:00Z"}),
		say(af.ExportMessage{Role: "user", Content: "And yearly?"}),
		say(af.ExportMessage{Role: "assistant", Content: "A guest's view.", Agent: "twin"}),
		mark(af.ExportMarker{Summary: "An old marker without title and time."}),
		say(af.ExportMessage{Role: "system", Content: "\x00\b\x1f line\\separator"}),
	}
}

func encode(t interface{ Fatal(...any) }, meta af.ExportMeta, lines []af.ExportLine) []byte {
	var out bytes.Buffer
	enc := af.NewExportEncoder(&out)
	err := enc.Meta(meta)
	for _, l := range lines {
		switch {
		case l.Message != nil:
			err = errors.Join(err, enc.Message(*l.Message))
		case l.Marker != nil:
			err = errors.Join(err, enc.Marker(*l.Marker))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func decode(t interface{ Fatal(...any) }, r io.Reader) (af.ExportMeta, []af.ExportLine, int) {
	d, err := af.NewExportDecoder(r)
	if err != nil {
		t.Fatal(err)
	}
	var lines []af.ExportLine
	for {
		l, err := d.Next()
		if errors.Is(err, io.EOF) {
			return d.Meta(), lines, d.Skipped()
		}
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, l)
	}
}

func TestExportEqualsItsGoldenFile(t *testing.T) {
	want, err := os.ReadFile("testdata/conversation.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	meta, lines := conversation()
	if diff := cmp.Diff(string(want), string(encode(t, meta, lines))); diff != "" {
		t.Error(diff)
	}
	gotMeta, gotLines, skipped := decode(t, iotest.HalfReader(bytes.NewReader(want)))
	if diff := cmp.Diff(meta, gotMeta); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(lines, gotLines); diff != "" || skipped != 0 {
		t.Error(skipped, diff)
	}
}

func TestExportImportExportIsByteIdentical(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "\u2028<&>", "\xff", "\"\\\x00\x7f\u0085", "\r\n"}))
		first := encode(t, af.ExportMeta{
			Agent: "a" + text.Draw(t, "agent"), CreatedBy: "s" + text.Draw(t, "sender"), Title: text.Draw(t, "title"),
			CreatedAt:  time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "secs"), rapid.Int64Range(0, 999999999).Draw(t, "nanos")),
			UptimeSecs: rapid.Uint64().Draw(t, "uptime"),
		}, rapid.SliceOfN(line(text), 0, 6).Draw(t, "lines"))
		meta, lines, skipped := decode(t, bytes.NewReader(first))
		if again := encode(t, meta, lines); !bytes.Equal(first, again) || skipped != 0 {
			t.Fatalf("%s became %s, %d skipped", first, again, skipped)
		}
		if bytes.Contains(first, []byte(`\u003c`)) || bytes.Contains(first, []byte(`\u2028`)) {
			t.Fatalf("more is escaped than JSON demands: %s", first)
		}
	})
}

func line(text *rapid.Generator[string]) *rapid.Generator[af.ExportLine] {
	return rapid.Custom(func(t *rapid.T) af.ExportLine {
		if rapid.Bool().Draw(t, "marker") {
			return af.ExportLine{Marker: &af.ExportMarker{Summary: text.Draw(t, "sum"), Title: text.Draw(t, "title"), ArchivedAt: text.Draw(t, "at")}}
		}
		m := &af.ExportMessage{
			Role:    rapid.SampledFrom([]string{"user", "assistant", "tool", "system"}).Draw(t, "role"),
			Content: text.Draw(t, "content"), ReasoningContent: text.Draw(t, "reasoning"), Name: text.Draw(t, "name"),
			ToolCallID: text.Draw(t, "id"), Agent: text.Draw(t, "agent"),
		}
		for range rapid.IntRange(0, 2).Draw(t, "calls") {
			m.ToolCalls = append(m.ToolCalls, af.ExportToolCall{ID: text.Draw(t, "cid"), Name: text.Draw(t, "cname"), Arguments: text.Draw(t, "args")})
		}
		return af.ExportLine{Message: m}
	})
}

func TestFilesWithoutAUsableFirstLineAreRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		in   string
		want error
	}{
		"empty":               {"", af.ErrEmptyFile},
		"blank":               {"\n", af.ErrBadMeta},
		"not JSON":            {"hello\n", af.ErrBadMeta},
		"an array":            {"[]\n", af.ErrBadMeta},
		"null":                {"null\n", af.ErrBadMeta},
		"no sender":           {`{"agent":"a"}`, af.ErrBadMeta},
		"no agent":            {`{"created_by":"u"}`, af.ErrBadMeta},
		"empty agent":         {`{"agent":"","created_by":"u"}`, af.ErrBadMeta},
		"agent is no string":  {`{"agent":1,"created_by":"u"}`, af.ErrBadMeta},
		"names in other case": {`{"Agent":"a","Created_By":"u"}`, af.ErrBadMeta},
		"a message":           {`{"role":"user","content":"x"}`, af.ErrBadMeta},
	} {
		if _, err := af.NewExportDecoder(strings.NewReader(tc.in)); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v; want %v", name, err, tc.want)
		}
	}
}

func TestImportIsForgivingAfterTheFirstLine(t *testing.T) {
	in := strings.Join([]string{
		`{"agent":"a","created_by":"u","created_at":"whenever","title":7,"uptime_secs":-1,"later":true}`,
		`{"role":"user","content":"one","extra":{"x":[1]}}` + "\r",
		``,                                    // blank: skipped
		`{"role":`,                            // unparsable: skipped
		`{"role":"robot","content":"x"}`,      // foreign: skipped
		`{"content":"no role"}`,               // foreign: skipped
		`{"compact":5}`,                       // foreign: skipped
		`{"role":"user","content":["parts"]}`, // foreign: skipped
		`[1]`,                                 // foreign: skipped
		`{"role":"assistant","content":null,"agent":null,"tool_calls":null}`,
		`{"compact":"old"}`,
		`{"role":"user","content":"both","compact":"x"}`,
		`{"role":"assistant","content":"to`, // torn: skipped
	}, "\n")
	meta, lines, skipped := decode(t, strings.NewReader(in))
	if diff := cmp.Diff(af.ExportMeta{Agent: "a", CreatedBy: "u"}, meta); diff != "" {
		t.Error(diff)
	}
	want := []af.ExportLine{
		{Message: &af.ExportMessage{Role: "user", Content: "one"}},
		{Message: &af.ExportMessage{Role: "assistant"}},
		{Marker: &af.ExportMarker{Summary: "old"}},
		{Message: &af.ExportMessage{Role: "user", Content: "both"}},
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
	if skipped != 8 {
		t.Errorf("%d skipped, want 8", skipped)
	}
}

func TestALastLineNeedsNoNewline(t *testing.T) {
	_, lines, skipped := decode(t, strings.NewReader(`{"agent":"a","created_by":"u"}`+"\n"+`{"role":"user","content":"x"}`))
	if len(lines) != 1 || skipped != 0 {
		t.Error(len(lines), skipped)
	}
}

func TestAnEndlessLineIsSkipped(t *testing.T) {
	long := io.MultiReader(strings.NewReader(`{"agent":"a","created_by":"u"}`+"\n"),
		io.LimitReader(zeros{}, 65<<20), strings.NewReader("\n"+`{"role":"user","content":"x"}`+"\n"))
	_, lines, skipped := decode(t, long)
	if len(lines) != 1 || skipped != 1 {
		t.Error(len(lines), skipped)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestReadErrorsAreNotTheEnd(t *testing.T) {
	broken := errors.New("broken")
	r := io.MultiReader(strings.NewReader(`{"agent":"a","created_by":"u"}`+"\n"+`{"ro`), iotest.ErrReader(broken))
	d, err := af.NewExportDecoder(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Next(); !errors.Is(err, broken) {
		t.Error(err)
	}
}

func TestTooManyToolCallsMakeALineUnusable(t *testing.T) {
	in := `{"agent":"a","created_by":"u"}` + "\n" + `{"role":"assistant","tool_calls":[{}` + strings.Repeat(",{}", 2000) + "]}\n"
	_, lines, skipped := decode(t, strings.NewReader(in))
	if len(lines) != 0 || skipped != 1 {
		t.Error(len(lines), skipped)
	}
}

func FuzzExportDecoder(f *testing.F) {
	file, err := os.ReadFile("testdata/conversation.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(file)
	f.Add([]byte(`{"agent":"a","created_by":"u"}` + "\n\n{\n"))
	f.Add([]byte(`{"agent":"a","created_by":"u"}` + "\n" + `{"role":"assistant","tool_calls":[null,{"function":null}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := af.NewExportDecoder(bytes.NewReader(data)); err != nil {
			return
		}
		meta, lines, _ := decode(t, bytes.NewReader(data))
		first := encode(t, meta, lines)
		meta, lines, skipped := decode(t, bytes.NewReader(first))
		if again := encode(t, meta, lines); !bytes.Equal(first, again) || skipped != 0 {
			t.Fatalf("%s became %s", first, again)
		}
	})
}

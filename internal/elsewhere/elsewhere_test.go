package elsewhere_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"parley.internal/internal/elsewhere"
	"parley.internal/protocol/agentfirst"
)

// samples are files as each program writes them, cut to what matters.
var samples = map[elsewhere.Kind]string{
	elsewhere.ChatGPT: `[{"title":"Harbour","create_time":1699564800.5,"conversation_id":"c-1","current_node":"d","mapping":{
		"root":{"id":"root","message":null,"parent":null,"children":["s"]},
		"s":{"id":"s","message":{"author":{"role":"system"},"content":{"content_type":"text","parts":["rules"]}},"parent":"root"},
		"a":{"id":"a","message":{"author":{"role":"user"},"create_time":1699564801,"content":{"content_type":"text","parts":["When does it open?"]}},"parent":"s"},
		"b":{"id":"b","message":{"author":{"role":"assistant"},"content":{"content_type":"text","parts":["A branch nobody took."]}},"parent":"a"},
		"c":{"id":"c","message":{"author":{"role":"assistant"},"content":{"content_type":"text","parts":["At nine."]}},"parent":"a"},
		"d":{"id":"d","message":{"author":{"role":"user"},"content":{"content_type":"multimodal_text","parts":[{"content_type":"image_asset_pointer"},"And this?"]}},"parent":"c"}}}]`,
	elsewhere.Claude: `[{"uuid":"u-1","name":"Harbour","created_at":"2024-12-01T10:00:00Z","account":{"uuid":"x"},"chat_messages":[
		{"uuid":"m","sender":"human","text":"When does it open?","content":[{"type":"text","text":"When does it open?"}],"created_at":"2024-12-01T10:00:00Z","attachments":[]},
		{"sender":"assistant","text":"","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"At nine."}],"created_at":"2024-12-01T10:00:05Z"},
		{"sender":"human","text":"And this?","created_at":"2024-12-01T10:01:00Z"}]}]`,
	elsewhere.ClaudeCode: `{"type":"summary","summary":"Harbour","leafUuid":"l"}
{"type":"user","sessionId":"s-1","isMeta":true,"timestamp":"2026-01-02T10:00:00Z","message":{"role":"user","content":"<caveat>"}}
{"type":"user","sessionId":"s-1","timestamp":"2026-01-02T10:00:00Z","message":{"role":"user","content":"When does it open?"}}
{"type":"assistant","sessionId":"s-1","timestamp":"2026-01-02T10:00:03Z","message":{"role":"assistant","content":[{"type":"tool_use","name":"Bash","input":{}}]}}
{"type":"user","sessionId":"s-1","timestamp":"2026-01-02T10:00:04Z","message":{"role":"user","content":[{"type":"tool_result","content":"9"}]}}
{"type":"assistant","sessionId":"s-1","isSidechain":true,"message":{"role":"assistant","content":"a helper's words"}}
{"type":"assistant","sessionId":"s-1","timestamp":"2026-01-02T10:00:05Z","message":{"role":"assistant","content":[{"type":"text","text":"At nine."}]}}
not JSON
{"type":"user","sessionId":"s-1","timestamp":"2026-01-02T10:01:00Z","message":{"role":"user","content":[{"type":"text","text":"And this?"}]}}
`,
	elsewhere.OpenClaw: "\uFEFF" + `{"type":"session","version":3,"id":"o-1","timestamp":"2026-04-08T01:03:43.107Z","cwd":"/w"}
{"type":"model_change","id":"7","parentId":null,"timestamp":"2026-04-08T01:03:43.116Z","modelId":"m"}
{"type":"message","id":"8","timestamp":"2026-04-08T01:03:44Z","message":{"role":"user","content":[{"type":"text","text":"When does it open?"}]}}
{"type":"message","id":"9","timestamp":"2026-04-08T01:03:45Z","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"At nine."},{"type":"toolCall","name":"x"}]}}
{"type":"message","id":"a","message":{"role":"toolResult","content":[{"type":"text","text":"9"}]}}
{"type":"message","id":"b","timestamp":"2026-04-08T01:04:44Z","message":{"role":"user","content":"And this?"}}`,
}

func TestWhatPeopleSaidElsewhereIsRead(t *testing.T) {
	ids := map[elsewhere.Kind]string{elsewhere.ChatGPT: "c-1", elsewhere.Claude: "u-1", elsewhere.ClaudeCode: "s-1", elsewhere.OpenClaw: "o-1"}
	for kind, sample := range samples {
		t.Run(string(kind), func(t *testing.T) {
			n := 0
			for c, err := range elsewhere.Read(strings.NewReader(sample)) {
				if n++; err != nil {
					t.Fatal(err)
				}
				var said []string
				for _, m := range c.Messages {
					said = append(said, fmt.Sprint(m.Assistant, " ", m.Text))
				}
				if diff := cmp.Diff([]string{"false When does it open?", "true At nine.", "false And this?"}, said); diff != "" {
					t.Errorf("what was said (-want +got):\n%s", diff)
				}
				if c.Kind != kind || c.ID != ids[kind] || c.Started.IsZero() || c.Thread() != string(kind)+":"+ids[kind] {
					t.Errorf("the conversation is %s %q, begun %s, thread %q", c.Kind, c.ID, c.Started, c.Thread())
				}
				if want := map[bool]string{true: "When does it open?", false: "Harbour"}[kind == elsewhere.OpenClaw]; c.Title != want {
					t.Errorf("its title is %q, want %q", c.Title, want)
				}
			}
			if n != 1 {
				t.Errorf("%d conversations, want one", n)
			}
		})
	}
}

func TestOtherFilesAreNamed(t *testing.T) {
	for _, text := range []string{"", "hello", "{}", `{"a":1}` + "\n", "[1]", "[{}]", "PK\x03\x04"} {
		var got error
		for _, err := range elsewhere.Read(strings.NewReader(text)) {
			got = err
		}
		if text == "[1]" && got != nil {
			continue // a decoder's own words
		}
		if !errors.Is(got, elsewhere.ErrUnknown) {
			t.Errorf("%q: %v, want %v", text, got, elsewhere.ErrUnknown)
		}
	}
	if kind, err := elsewhere.KindOf(strings.NewReader(`{"agent":"parley","created_by":"user"}`)); kind != elsewhere.Session || err != nil {
		t.Errorf("a session of the protocol is %q, %v", kind, err)
	}
}

// A tree of messages that leads in circles must not keep anybody busy.
func TestATreeThatLeadsInCirclesEnds(t *testing.T) {
	circle := `[{"id":"x","current_node":"a","mapping":{"a":{"parent":"b","message":{"author":{"role":"user"},"content":{"parts":["1"]}}},"b":{"parent":"a","message":null}}}]`
	for c, err := range elsewhere.Read(strings.NewReader(circle)) {
		if err != nil || len(c.Messages) > 3 {
			t.Errorf("%+v, %v; want no error, len(c.Messages) to be at most 3", c, err)
		}
	}
}

// FuzzRead: whatever a file holds, what comes out is a conversation that a hub can import.
func FuzzRead(f *testing.F) {
	for _, sample := range samples {
		f.Add([]byte(sample))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for c, err := range elsewhere.Read(bytes.NewReader(data)) {
			if err != nil {
				return
			}
			if agentfirst.CheckThread(c.Thread()) != nil || c.Thread() == "" {
				t.Fatalf("the thread %q names nothing", c.Thread())
			}
			var out bytes.Buffer
			if err := c.Write(&out, "parley", "user"); err != nil || !utf8.Valid(out.Bytes()) {
				t.Fatalf("written: %v", err)
			}
			d, err := agentfirst.NewExportDecoder(&out)
			if err != nil {
				t.Fatalf("what was written cannot be read: %v", err)
			}
			for range c.Messages {
				if l, err := d.Next(); err != nil || l.Message == nil {
					t.Fatalf("a message got lost: %v", err)
				}
			}
			if d.Skipped() != 0 {
				t.Fatalf("%d lines cannot be used", d.Skipped())
			}
		}
	})
}

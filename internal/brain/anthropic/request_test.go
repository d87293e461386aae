package anthropic

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/google/go-cmp/cmp"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/modelhttp/modeltest"
)

// long is a turn in its second round with everything before it: summary,
// reasoning, foreign and repeated call ids, consecutive user messages, blank
// texts, injected texts.
func long() model.Request {
	temp := 0.5
	return model.Request{
		Model: "claude-opus-4-6", System: "You are Parley.", Temperature: &temp, Thinking: "medium",
		Tools: []model.ToolSpec{
			{Name: "remember", Schema: json.RawMessage(`null`)},
			{Name: "file_read", Description: "reads", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}`)},
		},
		Messages: []model.Message{
			{Role: model.User, Text: "<summary>earlier</summary>", Summary: true},
			{Role: model.User, Text: "read a and b"},
			{
				Role: model.Assistant, Reasoning: "I should read.", ReasoningSignature: "sig", Text: "Reading.",
				Calls: []model.Call{{ID: "c.1", Name: "file_read", Arguments: `{"path":"a"}`}, {ID: "c2", Name: "file_read", Arguments: `{"path":`}},
			},
			{Role: model.Tool, CallID: "c.1", Name: "file_read", Text: "A"},
			{Role: model.Tool, CallID: "c2", Name: "file_read", Text: " ", IsError: true},
			{Role: model.Tool, CallID: "nobody", Text: "an answer to nothing"},
			{Role: model.Assistant, Text: "Done."},
			{Role: model.Assistant, Text: " \n", Reasoning: "nothing to say", ReasoningSignature: "sig"},
			{Role: model.User, Text: "It is Monday.", Injected: true},
			{Role: model.System, Text: "Framing.", Injected: true},
			{Role: model.User, Text: "thanks"},
			{Role: model.Assistant, Calls: []model.Call{{ID: "c2", Name: "remember"}}},
			{Role: model.Tool, CallID: "c2", Name: "remember", Text: "ok"},
		},
	}
}

func TestRequestOnTheWire(t *testing.T) {
	s := serve(t, Options{Key: key, BaseURL: "/v1"}, modeltest.Replay(t, "text"))
	s.read(long())
	s.Compare(t, "request.json")
	if s.Path != "/v1/messages" || s.Header.Get("X-Api-Key") != key {
		t.Errorf("path %s, headers %v", s.Path, s.Header)
	}
}

func TestPicturesAndPDFsOnTheWire(t *testing.T) {
	s := serve(t, Options{Key: key, BaseURL: "/v1"}, modeltest.Replay(t, "text"))
	s.read(model.Request{Model: "claude-opus-4-6", Messages: []model.Message{{Role: model.User, Text: "Look.", Files: []model.File{
		{Name: "a.png", Type: "image/png", Size: 1, Data: []byte("1")},
		{Name: "b.pdf", Type: "application/pdf", Size: 1, Data: []byte("2")},
		{Name: "c.wav", Type: "audio/wav", Size: 7},
	}}}})
	s.Compare(t, "request_files.json")
}

func TestEnvironmentIsNotRead(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "from-environment")
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "from-environment")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	s := serve(t, Options{Key: key, BaseURL: "/proxy/"}, modeltest.Replay(t, "text"))
	if r := s.read(hello()); r.Err != nil {
		t.Fatal(r.Err)
	}
	if s.Path != "/proxy/v1/messages" || s.Header.Get("X-Api-Key") != key || s.Header.Get("Authorization") != "" {
		t.Errorf("path %s, headers %v", s.Path, s.Header)
	}
}

func TestThinkingFitsTheModel(t *testing.T) {
	tests := []struct {
		model, thinking string
		max             int
		want            string
	}{
		{"claude-opus-4-6", "high", 0, `{"max_tokens":32000,"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"high"}}`},
		{"claude-sonnet-5", "low", 100, `{"max_tokens":100,"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"low"}}`},
		{"claude-sonnet-4-5-20250929", "high", 0, `{"max_tokens":32000,"thinking":{"type":"enabled","budget_tokens":16000}}`},
		{"claude-opus-4-1", "low", 0, `{"max_tokens":32000,"thinking":{"type":"enabled","budget_tokens":2048}}`},
		{"claude-sonnet-4-20250514", "medium", 4000, `{"max_tokens":4000,"thinking":{"type":"enabled","budget_tokens":2000}}`},
		{"claude-3-7-sonnet-20250219", "medium", 1500, `{"max_tokens":1500}`},
		{"claude-3-5-haiku-20241022", "high", 0, `{"max_tokens":8192}`},
		{"claude-3-haiku-20240307", "high", 0, `{"max_tokens":4096}`},
		{"claude-opus-4-6", "", 0, `{"max_tokens":32000}`},
		{"claude-opus-4-6", "off", 0, `{"max_tokens":32000}`},
	}
	p, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		raw, err := json.Marshal(p.params(model.Request{Model: tt.model, Thinking: tt.thinking, MaxOutput: tt.max}))
		if err != nil {
			t.Fatal(err)
		}
		var got, want map[string]any
		if json.Unmarshal(raw, &got) != nil || json.Unmarshal([]byte(tt.want), &want) != nil {
			t.Fatal("not JSON")
		}
		delete(got, "model")
		delete(got, "messages")
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s %q (-want +got):\n%s", tt.model, tt.thinking, d)
		}
	}
}

func TestNoBudgetInAToolRoundWithoutSignedReasoning(t *testing.T) {
	p, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	req := long()
	req.Model = "claude-sonnet-4-5"
	if out := p.params(req); out.Thinking.OfEnabled != nil {
		t.Error("the API would refuse: the current round's calls carry no reasoning")
	}
	req.Messages = req.Messages[:11]
	if out := p.params(req); out.Thinking.OfEnabled == nil {
		t.Error("a new turn may think again")
	}
}

func TestSeveralThoughtsGoBackInOrder(t *testing.T) {
	s := serve(t, Options{}, modeltest.Replay(t, "thoughts"))
	r := s.read(hello())
	got := messages([]model.Message{
		{Role: model.User, Text: "q"},
		{Role: model.Assistant, Reasoning: r.Thinking, ReasoningSignature: r.Done.Signature, Text: "a"},
		{Role: model.Assistant, ReasoningSignature: "blocks:not json", Text: "b"},
	})
	want := []sdk.MessageParam{
		sdk.NewUserMessage(sdk.NewTextBlock("q")),
		sdk.NewAssistantMessage(
			sdk.NewThinkingBlock("s1", "One."), sdk.NewRedactedThinkingBlock("opaque"), sdk.NewThinkingBlock("s2", "Two."),
			sdk.NewTextBlock("a"), sdk.NewTextBlock("b"),
		),
	}
	want[1].Content[4].OfText.CacheControl = sdk.NewCacheControlEphemeralParam()
	if d := cmp.Diff(asJSON(t, want), asJSON(t, got)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestAtMostFourCacheMarks(t *testing.T) {
	p, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	req := long()
	for n := range req.Messages {
		part := req
		part.Messages = req.Messages[:n]
		if c := strings.Count(asJSON(t, p.params(part)), `"ephemeral"`); c < 2 || c > 4 {
			t.Errorf("%d messages: %d marks", n, c)
		}
	}
}

func TestAHistoryThatDoesNotBeginWithAPerson(t *testing.T) {
	got := messages([]model.Message{{Role: model.Assistant, Text: "as I said"}, {Role: model.User, Text: "yes"}})
	if len(got) != 3 || got[0].Role != sdk.MessageParamRoleUser || got[1].Role != sdk.MessageParamRoleAssistant {
		t.Errorf("got %s", asJSON(t, got))
	}
}

func TestASteerFollowsTheToolResultsItInterrupts(t *testing.T) {
	got := messages([]model.Message{
		{Role: model.User, Text: "go"},
		{Role: model.Assistant, Calls: []model.Call{{ID: "a", Name: "x", Arguments: "{}"}}},
		{Role: model.Tool, CallID: "a", Text: "r"},
		{Role: model.System, Text: "injected", Injected: true},
		{Role: model.User, Text: "stop that"},
	})
	last := got[len(got)-1].Content
	if len(got) != 3 || len(last) != 3 || last[0].OfToolResult == nil || *last[1].GetText() != "injected" || *last[2].GetText() != "stop that" {
		t.Errorf("got %s", asJSON(t, got))
	}
}

func TestKeyIsNeverPrinted(t *testing.T) {
	o := Options{Key: key}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("options", "o", o)
	for _, s := range []string{fmt.Sprint(o), fmt.Sprintf("%+v", o), fmt.Sprintf("%#v", o), log.String()} {
		if strings.Contains(s, key) {
			t.Errorf("key in %q", s)
		}
	}
}

func FuzzTake(f *testing.F) {
	f.Add([]byte(`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"n","input":{"a":1}}}`))
	f.Add([]byte(`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{"}}`))
	f.Add([]byte(`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":4}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var ev sdk.MessageStreamEventUnion
		if json.Unmarshal(data, &ev) != nil {
			return
		}
		a := answer{}
		a.translate(ev)
		a.translate(ev)
		if u := a.done().Usage; u.CacheHit+u.CacheMiss != u.Prompt {
			t.Errorf("usage %+v", u)
		}
	})
}

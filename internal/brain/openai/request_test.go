package openai

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/modelhttp/modeltest"
)

// long is a conversation with everything in it: summary, reasoning, two calls,
// consecutive user messages, injected texts.
func long() model.Request {
	temp := 0.5
	return model.Request{
		Model: "gpt-x", System: "You are Parley.", MaxOutput: 500, Temperature: &temp, Thinking: "low",
		Tools: []model.ToolSpec{{Name: "file_read", Description: "reads", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)}},
		Messages: []model.Message{
			{Role: model.User, Text: "<summary>earlier</summary>", Summary: true},
			{Role: model.User, Text: "read a and b"},
			{
				Role: model.Assistant, Reasoning: "I should read.", ReasoningSignature: "sig", Text: "Reading.",
				Calls: []model.Call{{ID: "c1", Name: "file_read", Arguments: `{"path":"a"}`}, {ID: "c2", Name: "file_read", Arguments: `{"path":`}},
			},
			{Role: model.Tool, CallID: "c1", Name: "file_read", Text: "A"},
			{Role: model.Tool, CallID: "c2", Name: "file_read", Text: "bad arguments", IsError: true},
			{Role: model.Assistant, Text: "Done."},
			{Role: model.User, Text: "It is Monday.", Injected: true},
			{Role: model.System, Text: "Framing.", Injected: true},
			{Role: model.User, Text: "thanks"},
		},
	}
}

func TestRequestOnTheWire(t *testing.T) {
	s := serve(t, Options{Key: key}, modeltest.Replay(t, "text"))
	s.read(long())
	s.Compare(t, "request.json")
	if s.Path != "/v1/chat/completions" || s.Header.Get("Authorization") != "Bearer "+key {
		t.Errorf("path %s, authorization %q", s.Path, s.Header.Get("Authorization"))
	}
}

func TestPicturesPDFsAndVoiceNotesOnTheWire(t *testing.T) {
	s := serve(t, Options{Key: key}, modeltest.Replay(t, "text"))
	s.read(withFiles())
	s.Compare(t, "request_files.json")
}

func withFiles() model.Request {
	return model.Request{Model: "gpt-x", Messages: []model.Message{{Role: model.User, Text: "Look.", Files: []model.File{
		{Name: "a.png", Type: "image/png", Size: 1, Data: []byte("1")},
		{Name: "b.pdf", Type: "application/pdf", Size: 1, Data: []byte("2")},
		{Name: "c.wav", Type: "audio/wav", Size: 1, Data: []byte("3")},
		{Name: "d.mp3", Type: "audio/mpeg", Size: 1, Data: []byte("4")},
		{Name: "e.ogg", Type: "audio/ogg", Size: 7},
	}}, {Role: model.Assistant, Text: "Yes."}, {Role: model.User, Files: []model.File{{Name: "f.jpg", Type: "image/jpeg", Data: []byte("5")}}}}}
}

func TestSystemFirstFoldsInjectedTexts(t *testing.T) {
	s := serve(t, Options{SystemFirst: true}, modeltest.Replay(t, "text"))
	s.read(long())
	msgs := s.Body["messages"].([]any)
	first := msgs[0].(map[string]any)
	if first["content"] != "You are Parley.\n\nIt is Monday.\n\nFraming." {
		t.Errorf("first message %v", first)
	}
	for _, m := range msgs[1:] {
		if m.(map[string]any)["role"] == "system" {
			t.Errorf("another system message: %v", m)
		}
	}
	if s.Header.Get("Authorization") != "" {
		t.Error("a server without a key got one")
	}
}

func TestReasoningGoesBackWhenAsked(t *testing.T) {
	s := serve(t, Options{SendReasoning: true, BaseURL: "/proxy/v4"}, modeltest.Replay(t, "text"))
	s.read(long())
	if m := s.Body["messages"].([]any)[3].(map[string]any); m["reasoning_content"] != "I should read." {
		t.Errorf("assistant message %v", m)
	}
	if s.Path != "/proxy/v4/chat/completions" {
		t.Errorf("path %s", s.Path)
	}
}

func TestOpenAIItselfGetsTheNewNameOfTheLimit(t *testing.T) {
	p, err := New(Options{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(p.params(long()))
	if err != nil || !strings.Contains(string(raw), `"max_completion_tokens":500`) || strings.Contains(string(raw), `"max_tokens"`) {
		t.Errorf("%s %v; want no error, \"\"max_completion_tokens\":500\" in it, not \"\"max_tokens\"\" in it", raw, err)
	}
}

func TestEnvironmentIsNotRead(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "from-environment")
	t.Setenv("OPENAI_ORG_ID", "org")
	s := serve(t, Options{}, modeltest.Replay(t, "text"))
	s.read(hello())
	if h := s.Header; h.Get("Authorization") != "" || h.Get("OpenAI-Organization") != "" {
		t.Errorf("headers %v", h)
	}
}

func TestBadBaseURL(t *testing.T) {
	for _, u := range []string{"localhost:11434", "ftp://x", "http://", "http://%zz", "/v1"} {
		if _, err := New(Options{BaseURL: u}); err == nil {
			t.Errorf("%q accepted", u)
		}
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
	f.Add([]byte(`{"choices":[{"index":0,"delta":{"content":"a","tool_calls":[{"index":3,"id":"x","function":{"name":"n","arguments":"{"}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"cost":1e300}}`))
	f.Add([]byte(`{"error":{"message":"x","code":"y"}}`))
	f.Add([]byte(`[DONE]`))
	p, err := New(Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a := answer{provider: p}
		for range 2 {
			if _, _, err := a.Read(data); err != nil {
				return
			}
		}
		if u := a.usage; u.Prompt >= 0 && u.CacheHit+u.CacheMiss != u.Prompt {
			t.Errorf("usage %+v", u)
		}
		if ev := a.done(); ev[len(ev)-1].Kind != model.Done {
			t.Errorf("last event %+v", ev)
		}
	})
}

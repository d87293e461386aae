package openai

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/modelhttp/modeltest"
)

func TestTranscripts(t *testing.T) {
	tests := []struct {
		name           string
		text, thinking string
		calls          []model.Call
		usage          model.Usage
		finish         model.Finish
	}{
		{
			name: "text", text: "Hello, wörld ", finish: model.FinishStop,
			usage: model.Usage{Prompt: 1200, Completion: 7, CacheHit: 1024, CacheMiss: 176, Reasoning: 3, Rounds: 1},
		},
		{
			name: "calls", finish: model.FinishCalls,
			calls: []model.Call{{ID: "call_abc", Name: "file_read", Arguments: `{"path":"a.txt"}`}, {ID: "call_def", Name: "shell", Arguments: "{}"}},
			usage: model.Usage{Prompt: 10, Completion: 20, CacheMiss: 10, Rounds: 1},
		},
		{
			name: "same_index", finish: model.FinishCalls,
			calls: []model.Call{{ID: "a", Name: "one", Arguments: `{"n":1}`}, {ID: "b", Name: "two", Arguments: `{"n":2}`}},
			usage: model.Usage{Rounds: 1},
		},
		{
			name: "reasoning", thinking: "Let me think.", text: "42", finish: model.FinishLength,
			usage: model.Usage{Prompt: 5, Completion: 6, CacheHit: 4, CacheMiss: 1, CostMicros: 1230, CostKnown: true, Rounds: 1},
		},
		{
			name: "usage_first", text: "ab", finish: model.FinishStop,
			usage: model.Usage{Prompt: 9, Completion: 2, CacheMiss: 9, Rounds: 1},
		},
		{name: "filtered", text: "I cannot.", finish: model.FinishFilter, usage: model.Usage{Rounds: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, Options{Key: key}, modeltest.Replay(t, tt.name))
			r := s.read(hello())
			if r.Err != nil || r.Done == nil || r.After != 0 {
				t.Fatalf("err %v, done %v, %d events behind the end", r.Err, r.Done, r.After)
			}
			if r.Text != tt.text || r.Thinking != tt.thinking || r.Done.Finish != tt.finish {
				t.Errorf("got %q, thinking %q, finish %q", r.Text, r.Thinking, r.Done.Finish)
			}
			if d := cmp.Diff(tt.calls, r.Calls); d != "" {
				t.Errorf("calls (-want +got):\n%s", d)
			}
			if d := cmp.Diff(tt.usage, r.Done.Usage); d != "" {
				t.Errorf("usage (-want +got):\n%s", d)
			}
		})
	}
}

func TestCallsWithoutIDGetOne(t *testing.T) {
	s := serve(t, Options{}, modeltest.Replay(t, "no_ids"))
	r := s.read(hello())
	if len(r.Calls) != 1 || !strings.HasPrefix(r.Calls[0].ID, "call_") || r.Calls[0].Name != "one" {
		t.Errorf("calls %+v, err %v", r.Calls, r.Err)
	}
}

func TestBadAnswers(t *testing.T) {
	tests := []struct {
		name   string
		answer http.HandlerFunc
		cause  model.Cause
		status int
		retry  bool
		after  time.Duration
		says   string
	}{
		{"429 with seconds", modeltest.Status(429, `{"error":{"message":"slow down","type":"requests","code":"rate_limit_exceeded"}}`, "Retry-After", "7"), model.CauseStatus, 429, true, 7 * time.Second, "slow down"},
		{"429 with milliseconds", modeltest.Status(429, `{}`, "Retry-After-Ms", "250", "Retry-After", "1"), model.CauseStatus, 429, true, 250 * time.Millisecond, "429 Too Many Requests"},
		{"500 in HTML", modeltest.Status(500, `<html><body>oops</body></html>`), model.CauseStatus, 500, true, 0, "500 Internal Server Error"},
		{"503 in plain text", modeltest.Status(503, "model is\nloading"), model.CauseStatus, 503, true, 0, "model is loading"},
		{"408", modeltest.Status(408, ``), model.CauseStatus, 408, true, 0, "408"},
		{"400", modeltest.Status(400, `{"error":"no such field"}`), model.CauseStatus, 400, false, 0, "no such field"},
		{"401 repeating the key", modeltest.Status(401, `{"error":{"message":"bad key `+key+`"}}`), model.CauseStatus, 401, false, 0, "bad key ***"},
		{"404 with detail", modeltest.Status(404, `{"detail":"Not Found"}`), model.CauseStatus, 404, false, 0, "Not Found"},
		{"422 with structured detail", modeltest.Status(422, `{"detail":[{"loc":["body"]}]}`), model.CauseStatus, 422, false, 0, "loc"},
		{"redirect", modeltest.Status(302, "", "Location", "http://example.com/"), model.CauseStatus, 302, false, 0, "302 Found"},
		{"context by code", modeltest.Status(400, `{"error":{"message":"too big","code":"context_length_exceeded"}}`), model.CauseContext, 400, false, 0, "too big"},
		{"context by words", modeltest.Status(400, `{"error":{"message":"This model's maximum context length is 4096 tokens"}}`), model.CauseContext, 400, false, 0, "4096"},
		{"context of llama.cpp", modeltest.Status(400, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`), model.CauseContext, 400, false, 0, "context size"},
		{"error event", modeltest.Replay(t, "overloaded"), model.CauseStatus, 429, true, 0, "upstream is busy"},
		{"context in an event", modeltest.Replay(t, "too_long"), model.CauseContext, 400, false, 0, "8192"},
		{"garbage", modeltest.Replay(t, "garbage"), model.CauseBadData, 0, false, 0, "not JSON"},
		{"no choices", modeltest.Replay(t, "no_choices"), model.CauseBadData, 0, false, 0, "no choices"},
		{"nothing", modeltest.Status(200, "", "Content-Type", "text/event-stream"), model.CauseBadData, 0, false, 0, "empty"},
		{"a page", modeltest.Status(200, "<html></html>", "Content-Type", "text/html"), model.CauseBadData, 0, false, 0, "base URL"},
		{"an error with a good status", modeltest.Status(200, `{"error":{"message":"quota used up","code":"insufficient_quota"}}`, "Content-Type", "application/json"), model.CauseStatus, 429, true, 0, "quota used up"},
		{"JSON that is no answer", modeltest.Status(200, `{"hello":"world"}`, "Content-Type", "application/json"), model.CauseBadData, 0, false, 0, "no choices"},
		{"unfinished", modeltest.Replay(t, "unfinished"), model.CauseConnect, 0, true, 0, "cut"},
		{"cut", modeltest.Cut(oneToken), model.CauseConnect, 0, true, 0, "cut"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, Options{Key: key}, tt.answer)
			r := s.read(hello())
			if r.Done != nil || r.After != 0 {
				t.Fatalf("done %v, %d events behind the error", r.Done, r.After)
			}
			e := modeltest.Error(t, r.Err)
			if e.Cause != tt.cause || e.Status != tt.status || e.Retryable() != tt.retry || e.RetryAfter != tt.after {
				t.Errorf("got %q %d retry %v after %v: %v", e.Cause, e.Status, e.Retryable(), e.RetryAfter, e)
			}
			if !strings.Contains(e.Error(), tt.says) || strings.Contains(e.Error(), key) || e.Provider != "openai" {
				t.Errorf("text %q, want %q in it and no key", e, tt.says)
			}
		})
	}
}

func TestOneAttemptOnly(t *testing.T) {
	s := serve(t, Options{}, modeltest.Status(500, ""))
	s.read(hello())
	if s.Count != 1 {
		t.Errorf("%d requests", s.Count)
	}
}

func TestCancelEndsAStalledStreamAtOnce(t *testing.T) {
	s := serve(t, Options{}, modeltest.Hang(oneToken))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var last error
	for ev, err := range s.Stream(ctx, hello()) {
		if ev.Kind == model.Text {
			cancel()
		}
		last = err
	}
	if e := modeltest.Error(t, last); !errors.Is(e, context.Canceled) || e.Retryable() {
		t.Errorf("got %v", e)
	}
}

func TestCancelBeforeTheFirstToken(t *testing.T) {
	asked := make(chan struct{})
	s := serve(t, Options{}, func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-asked
		cancel()
	}()
	if r := modeltest.Read(ctx, s.Provider, hello()); !errors.Is(r.Err, context.Canceled) {
		t.Errorf("got %v", r.Err)
	}
}

func TestStopIteratingEndsTheCall(t *testing.T) {
	gone := make(chan struct{})
	s := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		modeltest.Hang(oneToken)(w, r)
		close(gone)
	})
	for range s.Stream(context.Background(), hello()) {
		break
	}
	<-gone
}

func TestStallTimesOut(t *testing.T) {
	s := serve(t, Options{FirstToken: time.Minute, BetweenTokens: time.Millisecond}, modeltest.Hang(oneToken))
	r := s.read(hello())
	if e := modeltest.Error(t, r.Err); e.Cause != model.CauseTimeout || !e.Retryable() || r.Text != "one" {
		t.Errorf("got %v after %q", e, r.Text)
	}
}

func TestNoFirstTokenTimesOut(t *testing.T) {
	s := serve(t, Options{FirstToken: time.Millisecond}, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	if e := modeltest.Error(t, s.read(hello()).Err); e.Cause != model.CauseTimeout || !strings.Contains(e.Text, "1ms") {
		t.Errorf("got %v", e)
	}
}

func TestNobodyListens(t *testing.T) {
	p, err := New(Options{BaseURL: "http://user:hunter2@127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	e := modeltest.Error(t, modeltest.Read(context.Background(), p, hello()).Err)
	if e.Cause != model.CauseConnect || !e.Retryable() || strings.Contains(e.Error(), "hunter2") {
		t.Errorf("got %v", e)
	}
}

// Some gateways ignore "stream": true and send the whole answer as one document.
func TestAnAnswerInOnePieceIsAnAnswer(t *testing.T) {
	s := serve(t, Options{}, modeltest.Status(200, `{"choices":[{"index":0,"message":{"role":"assistant","content":"Hello",
		"tool_calls":[{"id":"a","type":"function","function":{"name":"one","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"two","arguments":"{}"}}]},
		"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":5,"completion_tokens":2}}`, "Content-Type", "application/json; charset=utf-8"))
	r := s.read(hello())
	if r.Err != nil || r.Done == nil || r.Text != "Hello" || r.Done.Finish != model.FinishCalls || r.Done.Usage.Prompt != 5 {
		t.Fatalf("got %q, done %+v, err %v, want the whole answer", r.Text, r.Done, r.Err)
	}
	want := []model.Call{{ID: "a", Name: "one", Arguments: "{}"}, {ID: "b", Name: "two", Arguments: "{}"}}
	if d := cmp.Diff(want, r.Calls); d != "" {
		t.Errorf("calls (-want +got):\n%s", d)
	}
}

package anthropic

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
		signature      string
	}{
		{
			name: "text", text: "Hello, wörld ", finish: model.FinishStop,
			usage: model.Usage{Prompt: 2112, Completion: 15, CacheHit: 2000, CacheMiss: 112, CacheWrite: 100, Rounds: 1},
		},
		{
			name: "calls", text: "Reading.", thinking: "I should read.", finish: model.FinishCalls, signature: "EqQBCgIYAhIM",
			calls: []model.Call{{ID: "toolu_01", Name: "file_read", Arguments: `{"path": "a.txt"}`}, {ID: "toolu_02", Name: "shell", Arguments: `{"command":"ls"}`}},
			usage: model.Usage{Prompt: 35, Completion: 40, CacheHit: 5, CacheMiss: 30, Reasoning: 9, Rounds: 1},
		},
		{
			name: "thoughts", thinking: "One.Two.", finish: model.FinishLength,
			signature: `blocks:[{"t":"One.","s":"s1"},{"r":"opaque"},{"t":"Two.","s":"s2"}]`,
			usage:     model.Usage{Prompt: 3, Completion: 4, CacheMiss: 3, Rounds: 1},
		},
		{name: "refusal", finish: model.FinishFilter, usage: model.Usage{Prompt: 3, Completion: 1, CacheMiss: 3, Rounds: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, Options{Key: key}, modeltest.Replay(t, tt.name))
			r := s.read(hello())
			if r.Err != nil || r.Done == nil || r.After != 0 {
				t.Fatalf("err %v, done %v, %d events behind the end", r.Err, r.Done, r.After)
			}
			if r.Text != tt.text || r.Thinking != tt.thinking || r.Done.Finish != tt.finish || r.Done.Signature != tt.signature {
				t.Errorf("got %q, thinking %q, %+v", r.Text, r.Thinking, r.Done)
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
		{"429", modeltest.Status(429, `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`, "Retry-After", "3"), model.CauseStatus, 429, true, 3 * time.Second, "slow down"},
		{"529", modeltest.Status(529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), model.CauseStatus, 529, true, 0, "529: Overloaded"},
		{"500 in HTML", modeltest.Status(500, `<html>`), model.CauseStatus, 500, true, 0, "500 Internal Server Error"},
		{"400", modeltest.Status(400, `{"type":"error","error":{"type":"invalid_request_error","message":"tools: bad"}}`), model.CauseStatus, 400, false, 0, "tools: bad"},
		{"401 repeating the key", modeltest.Status(401, `{"error":{"message":"invalid x-api-key `+key+`"}}`), model.CauseStatus, 401, false, 0, "invalid x-api-key ***"},
		{"redirect", modeltest.Status(307, "", "Location", "http://example.com/"), model.CauseStatus, 307, false, 0, "307"},
		{"context", modeltest.Status(400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`), model.CauseContext, 400, false, 0, "210000"},
		{"context with output", modeltest.Status(400, `{"error":{"type":"invalid_request_error","message":"input length and max_tokens exceed context limit: 199000 + 32000 > 200000"}}`), model.CauseContext, 400, false, 0, "199000"},
		{"413", modeltest.Status(413, `{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`), model.CauseContext, 413, false, 0, "maximum size"},
		{"error event", modeltest.Replay(t, "overloaded"), model.CauseStatus, 529, true, 0, "Overloaded"},
		{"garbage", modeltest.Replay(t, "garbage"), model.CauseBadData, 0, false, 0, "not JSON"},
		{"nothing", modeltest.Status(200, "", "Content-Type", "text/event-stream"), model.CauseBadData, 0, false, 0, "empty"},
		{"a page", modeltest.Status(200, "<html></html>", "Content-Type", "text/html"), model.CauseBadData, 0, false, 0, "base URL"},
		{"an error without the name of its event", modeltest.Status(200, "data: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n", "Content-Type", "text/event-stream"), model.CauseStatus, 529, true, 0, "Overloaded"},
		{"an error with a good status", modeltest.Status(200, `{"type":"error","error":{"type":"rate_limit_error","message":"quota used up"}}`, "Content-Type", "application/json"), model.CauseStatus, 429, true, 0, "quota used up"},
		{"JSON that is no answer", modeltest.Status(200, `{"hello":"world"}`, "Content-Type", "application/json"), model.CauseBadData, 0, false, 0, "no message"},
		{"JSON that is none", modeltest.Status(200, `{"type":`, "Content-Type", "application/json"), model.CauseBadData, 0, false, 0, "not JSON"},
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
			if !strings.Contains(e.Error(), tt.says) || strings.Contains(e.Error(), key) || e.Provider != "anthropic" {
				t.Errorf("text %q, want %q in it and no key", e, tt.says)
			}
			if s.Count != 1 {
				t.Errorf("%d requests, want one attempt", s.Count)
			}
		})
	}
}

// Some gateways ignore "stream": true and send the whole answer as one document.
func TestAnAnswerInOnePieceIsRead(t *testing.T) {
	s := serve(t, Options{Key: key}, modeltest.Status(200, `{"type":"message","role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"sig"},
		{"type":"text","text":"Reading."},{"type":"tool_use","id":"toolu_1","name":"file_read","input":{"path":"a"}}],
		"stop_reason":"tool_use","usage":{"input_tokens":5,"output_tokens":2,"cache_read_input_tokens":3}}`, "Content-Type", "application/json; charset=utf-8"))
	r := s.read(hello())
	if r.Err != nil || r.Done == nil || r.Text != "Reading." || r.Thinking != "Hm." || r.Done.Signature != "sig" {
		t.Fatalf("got %q, thinking %q, done %+v, err %v, want the whole answer", r.Text, r.Thinking, r.Done, r.Err)
	}
	if len(r.Calls) != 1 || r.Calls[0].Name != "file_read" || r.Calls[0].Arguments != `{"path":"a"}` || r.Done.Finish != model.FinishCalls {
		t.Errorf("calls %+v, finish %s, want the call of the answer", r.Calls, r.Done.Finish)
	}
	if u := r.Done.Usage; u.Prompt != 8 || u.Completion != 2 || u.CacheHit != 3 {
		t.Errorf("usage %+v, want what the answer reports", u)
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
	s := serve(t, Options{FirstToken: time.Minute, BetweenTokens: time.Millisecond}, modeltest.Hang(strings.SplitAfter(oneToken, "\n\n")[0]))
	e := modeltest.Error(t, s.read(hello()).Err)
	if e.Cause != model.CauseTimeout || !e.Retryable() || !strings.Contains(e.Text, "1ms") {
		t.Errorf("got %v", e)
	}
}

func TestNoFirstTokenTimesOut(t *testing.T) {
	s := serve(t, Options{FirstToken: time.Millisecond}, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	if e := modeltest.Error(t, s.read(hello()).Err); e.Cause != model.CauseTimeout {
		t.Errorf("got %v", e)
	}
}

func TestNobodyListens(t *testing.T) {
	p, err := New(Options{BaseURL: "http://127.0.0.1:1", Key: key})
	if err != nil {
		t.Fatal(err)
	}
	e := modeltest.Error(t, modeltest.Read(context.Background(), p, hello()).Err)
	if e.Cause != model.CauseConnect || !e.Retryable() {
		t.Errorf("got %v", e)
	}
}

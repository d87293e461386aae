package openai

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// vector is a request as clients send it, and what is read.
type vector struct {
	Kind    string          `json:"kind"`
	Request json.RawMessage `json:"request"`
	Want    *Request        `json:"want"`
	// Param and Says are of a refusal.
	Param string `json:"param"`
	Says  string `json:"says"`
}

func vectors(t testing.TB) map[string]vector {
	t.Helper()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	out := map[string]vector{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var list map[string]vector
		if err := json.Unmarshal(data, &list); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		maps.Copy(out, list)
	}
	return out
}

func (v vector) decode() (*Request, error) {
	if v.Kind == "responses" {
		return DecodeResponses(v.Request)
	}
	return DecodeChat(v.Request)
}

func TestRequestsAreReadAsClientsMeanThem(t *testing.T) {
	for name, v := range vectors(t) {
		t.Run(name, func(t *testing.T) {
			got, err := v.decode()
			if v.Want == nil {
				e, ok := errors.AsType[*Error](err)
				if !ok || e.Param != v.Param || !strings.Contains(e.Message, v.Says) || e.Status != 400 {
					t.Fatalf("it was read as %+v with %v, want a refusal of %q that says %q", got, err, v.Param, v.Says)
				}
				return
			}
			if err != nil {
				t.Fatalf("it was refused: %v", err)
			}
			if diff := cmp.Diff(v.Want, got); diff != "" {
				t.Errorf("it was read otherwise (-want +got):\n%s", diff)
			}
		})
	}
}

// Whatever a client sends is read or refused in the wire's shape; no turn is anybody's but the user's,
// the assistant's or a tool's; and the last one is never the assistant's.
func FuzzDecode(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add([]byte(v.Request), v.Kind == "responses")
	}
	f.Fuzz(func(t *testing.T, body []byte, responses bool) {
		decode := DecodeChat
		if responses {
			decode = DecodeResponses
		}
		req, err := decode(body)
		if err != nil {
			if e, ok := errors.AsType[*Error](err); !ok || e.Status != 400 {
				t.Fatalf("an error of another kind: %v", err)
			}
			return
		}
		for _, turn := range req.Turns {
			if turn.Role != User && turn.Role != Assistant && turn.Role != Tool {
				t.Fatalf("a turn of %q", turn.Role)
			}
		}
		history, now := req.Split()
		if len(history)+len(now.Results)+len(now.Words) != len(req.Turns) || len(now.Results)+len(now.Words) == 0 {
			t.Fatalf("%d turns were split into %d, %d and %d", len(req.Turns), len(history), len(now.Results), len(now.Words))
		}
	})
}

// The events of a stream are numbered without a gap, every item that opens is closed, and the last
// event has all of them.
func TestAStreamOfEventsIsWhole(t *testing.T) {
	a := &Answer{ID: "r", Previous: "resp_1", Model: "m", Created: time.Unix(7, 0), Finish: FinishCalls, Usage: Usage{Prompt: 3, Completion: 2}}
	s := NewStream(a)
	events := s.Start()
	events = append(events, s.Think("wait")...)
	events = append(events, s.Say("Hel")...)
	events = append(events, s.Say("lo")...)
	a.Calls = []Call{{ID: "c", Name: "weather", Arguments: `{"city":"Bern"}`}}
	events = append(events, s.End()...)
	open := 0
	for i, e := range events {
		if e.Sequence != i {
			t.Errorf("event %d has the number %d", i, e.Sequence)
		}
		switch e.Type {
		case "response.output_item.added":
			open++
		case "response.output_item.done":
			open--
		}
	}
	if open != 0 {
		t.Errorf("%d items stay open", open)
	}
	raw, err := json.Marshal(events[len(events)-1])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"type":"response.completed"`, `"text":"Hello"`, `"text":"wait"`, `"call_id":"c"`, `"input_tokens":3`, `"total_tokens":5`, `"status":"completed"`} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("the last event lacks %s:\n%s", want, raw)
		}
	}
}

func TestARefusalHasAllMembers(t *testing.T) {
	raw, err := json.Marshal(Envelope{Error: NewError(404, "model_not_found", "no")})
	if want := `{"error":{"code":"model_not_found","message":"no","param":null,"type":"invalid_request_error"}}`; err != nil || string(raw) != want {
		t.Errorf("got %s %v, want %s", raw, err, want)
	}
}

package clients_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// response is what tests look at of a response.
type response struct {
	ID, Object, Status string
	Output             []struct {
		Type, Name, Arguments string
		CallID                string `json:"call_id"`
		Content               []struct{ Type, Text string }
		Summary               []struct{ Text string }
	}
	Usage *struct {
		Input  int `json:"input_tokens"`
		Output int `json:"output_tokens"`
	}
}

func (r response) text() (all string) {
	for _, item := range r.Output {
		for _, part := range item.Content {
			all += part.Text
		}
	}
	return all
}

func (s *site) respond(body object) (r response) {
	s.t.Helper()
	body["model"] = "helper"
	s.post("/v1/responses", body, &r)
	return r
}

// An answer can be followed by its id: the hub has the history. Following one that has been followed
// already forks there.
func TestAnAnswerIsFollowedByItsID(t *testing.T) {
	s := newSite(t)
	one := s.respond(object{"input": "/usage 5 2\n/say one", "conversation": "c"})
	if one.text() != "one" || one.Status != "completed" || one.Object != "response" || one.Usage.Input != 5 || one.Usage.Output != 2 {
		t.Fatalf("the answer is %+v", one)
	}
	two := s.respond(object{"input": "/say two", "previous_response_id": one.ID})
	if got := s.threads(); got["c"] != 4 || len(got) != 1 {
		t.Fatalf("it went on elsewhere: %v", got)
	}
	other := s.respond(object{"input": "/context", "previous_response_id": one.ID})
	c := given(t, other.text())
	if !slices.ContainsFunc(c.History, hasWords("one")) || slices.ContainsFunc(c.History, hasWords("two")) || len(s.threads()) != 2 {
		t.Errorf("following the first again was given %+v, and there are %v", c.History, s.threads())
	}
	s.respond(object{"input": "/say three", "previous_response_id": two.ID})
	if got := s.threads(); got["c"] != 6 {
		t.Errorf("the second goes on as %v", got)
	}
	for _, id := range []string{"resp_x", "resp_" + strings.Repeat("A", 400), "nonsense"} {
		if a := s.post("/v1/responses", object{"model": "helper", "input": "a", "previous_response_id": id}, nil); a.Status != 404 {
			t.Errorf("%s: %d %s", id, a.Status, a.Body)
		}
	}
}

// The same in events, with a tool of the client's: numbered, each item opened and closed.
func TestResponsesInEvents(t *testing.T) {
	s := newSite(t)
	tools := list{object{"type": "function", "name": "weather", "parameters": object{"type": "object"}}}
	script := "/say Looking.\n/tool weather {\"city\":\"Bern\"}\n/result"
	st := s.stream("/v1/responses", object{"model": "helper", "input": script, "tools": tools, "instructions": "Be brief."})
	var kinds []string
	var done struct {
		Sequence int `json:"sequence_number"`
		Type     string
		Response response
	}
	for data, ok := st.next(); ok; data, ok = st.next() {
		if err := json.Unmarshal([]byte(data), &done); err != nil {
			t.Fatal(err)
		}
		if done.Sequence != len(kinds) {
			t.Errorf("event %d has the number %d", len(kinds), done.Sequence)
		}
		kinds = append(kinds, done.Type)
	}
	for _, want := range []string{"response.created", "response.output_text.delta", "response.output_text.done", "response.function_call_arguments.done", "response.completed"} {
		if !slices.Contains(kinds, want) {
			t.Errorf("there is no %s in %v", want, kinds)
		}
	}
	r := done.Response
	call := r.Output[len(r.Output)-1]
	if r.text() != "Looking." || call.Type != "function_call" || call.Name != "weather" || call.Arguments != `{"city":"Bern"}` {
		t.Fatalf("the answer is %+v", r)
	}
	// The result alone is enough after an id; a client without one sends all of it again.
	output := object{"type": "function_call_output", "call_id": call.CallID, "output": "rain"}
	if got := s.respond(object{"previous_response_id": r.ID, "input": list{output}}).text(); !strings.Contains(got, "rain") {
		t.Errorf("with the result the answer is %q", got)
	}
	if a := s.post("/v1/responses", object{"model": "helper", "previous_response_id": r.ID, "input": list{output}}, nil); a.Status != 409 {
		t.Errorf("a result that nothing waits for: %d %s", a.Status, a.Body)
	}
}

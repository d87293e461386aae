package clients_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"parley.internal/test/hubtest"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// agent can look after a person and run commands, which ask; its model is the offline one.
const agent = `{"name":"helper","description":"helps","prompt":"You help.","tools":["shell","remember"]}`

// site is a hub with an agent and a token that may only talk.
type site struct {
	*hubtest.Hub
	t     testing.TB
	token string
}

func newSite(t testing.TB) *site {
	t.Helper()
	s := &site{t: t, Hub: hubtest.Start(t, hubtest.Config{})}
	if a := s.Do("POST", "/api/agents", agent); a.Status > 299 {
		t.Fatalf("no agent: %d %s", a.Status, a.Body)
	}
	s.token = s.Token("talk")
	return s
}

type object = map[string]any

type list = []any

func say(role, text string) object { return object{"role": role, "content": text} }

// post sends a request and reads a plain answer.
func (s *site) post(path string, body object, into any) hubtest.Answer {
	s.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	a := s.As(s.token, "POST", path, string(raw))
	if a.Err != nil {
		s.t.Fatal(a.Err)
	}
	if into != nil {
		if a.Status != 200 {
			s.t.Fatalf("%s answered %d %s", path, a.Status, a.Body)
		}
		if err := json.Unmarshal(a.Body, into); err != nil {
			s.t.Fatal(err)
		}
	}
	return a
}

// completion is what tests look at of a chat.completion, whole or in chunks.
type completion struct {
	ID, Object, Model string
	Choices           []struct {
		Message, Delta words
		Finish         string `json:"finish_reason"`
	}
	Usage *struct {
		Prompt     int      `json:"prompt_tokens"`
		Completion int      `json:"completion_tokens"`
		Cost       *float64 `json:"cost"`
	}
}

type words struct {
	Content   string
	Reasoning string `json:"reasoning_content"`
	Calls     []struct {
		ID       string
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
}

// chat asks for a plain chat.completion.
func (s *site) chat(thread string, messages ...any) completion {
	s.t.Helper()
	var out completion
	s.post("/v1/chat/completions", object{"model": "helper", "user": thread, "messages": messages}, &out)
	if len(out.Choices) != 1 {
		s.t.Fatalf("%d choices", len(out.Choices))
	}
	return out
}

func (c completion) text() string { return c.Choices[0].Message.Content }

// stream is an open answer in events.
type stream struct {
	t     testing.TB
	res   *http.Response
	lines *bufio.Scanner
}

func (s *site) stream(path string, body object) *stream {
	s.t.Helper()
	body["stream"] = true
	raw, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(s.t.Context(), "POST", s.URL+path, bytes.NewReader(raw))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	req.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: &http.Transport{}}
	res, err := client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = res.Body.Close(); client.CloseIdleConnections() })
	if res.StatusCode != 200 || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		s.t.Fatalf("a stream answered %d %s", res.StatusCode, res.Header)
	}
	return &stream{s.t, res, bufio.NewScanner(res.Body)}
}

// next is the data of the next event; ok is false after the last.
func (s *stream) next() (data string, ok bool) {
	s.t.Helper()
	for s.lines.Scan() {
		if data, is := strings.CutPrefix(s.lines.Text(), "data: "); is {
			return data, data != "[DONE]"
		}
	}
	return "", false
}

// chunks reads a chat stream to its end.
func (s *stream) chunks() (text, thought string, last completion) {
	s.t.Helper()
	for data, ok := s.next(); ok; data, ok = s.next() {
		var c completion
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			s.t.Fatalf("%v in %s", err, data)
		}
		if len(c.Choices) > 0 {
			text += c.Choices[0].Delta.Content
			thought += c.Choices[0].Delta.Reasoning
		}
		if c.Usage != nil || len(c.Choices) > 0 && (c.Choices[0].Finish != "" || len(c.Choices[0].Delta.Calls) > 0) {
			if len(last.Choices) > 0 && len(c.Choices) > 0 {
				c.Choices[0].Delta.Calls = append(last.Choices[0].Delta.Calls, c.Choices[0].Delta.Calls...)
			}
			if len(c.Choices) == 0 {
				c.Choices = last.Choices
			}
			last = c
		}
	}
	return text, thought, last
}

// threads are the conversations of the agent, by thread, with how many messages each has.
func (s *site) threads() map[string]int {
	s.t.Helper()
	var out struct {
		Conversations []struct {
			Thread   string
			Messages int `json:"message_count"`
		}
	}
	a := s.Do("GET", "/api/conversations?agent=helper", "")
	if err := json.Unmarshal(a.Body, &out); err != nil || a.Status != 200 {
		s.t.Fatalf("%d %s", a.Status, a.Body)
	}
	found := map[string]int{}
	for _, c := range out.Conversations {
		found[c.Thread] = c.Messages
	}
	return found
}

// question waits for one in the inbox.
func (s *site) question() string {
	s.t.Helper()
	var open struct {
		Approvals []struct{ ID string }
	}
	hubtest.Eventually(s.t, "a question is in the inbox", func() bool {
		return json.Unmarshal(s.Do("GET", "/api/approvals", "").Body, &open) == nil && len(open.Approvals) > 0
	})
	return open.Approvals[0].ID
}

// answer answers the question that waits, as the owner.
func (s *site) answer(yes bool) {
	s.t.Helper()
	body := map[bool]string{true: `{"approved":true}`, false: `{"approved":false}`}[yes]
	if a := s.Do("POST", "/api/approvals/"+s.question(), body); a.Status > 299 {
		s.t.Fatalf("the answer: %d %s", a.Status, a.Body)
	}
}

package openai

import "strconv"

// Event is one event of a stream of the responses kind.
type Event struct {
	Type string `json:"type"`
	// Sequence counts from 0.
	Sequence     int    `json:"sequence_number"`
	Response     any    `json:"response,omitempty"`
	OutputIndex  *int   `json:"output_index,omitempty"`
	ContentIndex *int   `json:"content_index,omitempty"`
	SummaryIndex *int   `json:"summary_index,omitempty"`
	ItemID       string `json:"item_id,omitempty"`
	Item         any    `json:"item,omitempty"`
	Part         any    `json:"part,omitempty"`
	Delta        any    `json:"delta,omitempty"`
	Text         any    `json:"text,omitempty"`
	Arguments    any    `json:"arguments,omitempty"`
	Name         string `json:"name,omitempty"`
	Logprobs     []any  `json:"logprobs,omitzero"`
}

type responseUsage struct {
	Input        int64 `json:"input_tokens"`
	InputDetails struct {
		Cached int64 `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	Output        int64 `json:"output_tokens"`
	OutputDetails struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	Total int64    `json:"total_tokens"`
	Cost  *float64 `json:"cost,omitempty"`
}

// Stream tells an answer of the responses kind in events. Each method gives the events to send.
type Stream struct {
	a      *Answer
	seq    int
	items  []any
	open   string // the open item: "", "reasoning" or "message"
	text   string // of the open item
	events []Event
}

// NewStream begins an answer.
func NewStream(a *Answer) *Stream { return &Stream{a: a} }

func (s *Stream) tell(e Event) {
	e.Sequence = s.seq
	s.seq++
	s.events = append(s.events, e)
}

func (s *Stream) told() []Event {
	out := s.events
	s.events = nil
	return out
}

// Start opens the stream.
func (s *Stream) Start() []Event {
	s.tell(Event{Type: "response.created", Response: s.response("in_progress", nil)})
	s.tell(Event{Type: "response.in_progress", Response: s.response("in_progress", nil)})
	return s.told()
}

// Say is a piece of the answer.
func (s *Stream) Say(text string) []Event {
	s.enter("message")
	s.text += text
	s.tell(Event{Type: "response.output_text.delta", ItemID: s.id(), OutputIndex: s.at(), ContentIndex: new(int), Delta: text, Logprobs: []any{}})
	return s.told()
}

// Think is a piece of how the answer comes about.
func (s *Stream) Think(text string) []Event {
	s.enter("reasoning")
	s.text += text
	s.tell(Event{Type: "response.reasoning_summary_text.delta", ItemID: s.id(), OutputIndex: s.at(), SummaryIndex: new(int), Delta: text})
	return s.told()
}

// End closes the stream with the whole answer.
func (s *Stream) End() []Event {
	s.enter("")
	for _, c := range s.a.Calls {
		s.call(c)
	}
	kind, status := "response.completed", "completed"
	if s.a.Finish == FinishLength || s.a.Finish == FinishFilter {
		kind, status = "response.incomplete", "incomplete"
	}
	s.tell(Event{Type: kind, Response: s.response(status, nil)})
	return s.told()
}

// Fail closes the stream with what went wrong.
func (s *Stream) Fail(e *Error) []Event {
	s.enter("")
	s.tell(Event{Type: "response.failed", Response: s.response("failed", e)})
	return s.told()
}

func (s *Stream) at() *int {
	n := len(s.items)
	return &n
}

func (s *Stream) id() string { return itemID(s.open, s.a.ID, len(s.items)) }

func itemID(kind, run string, n int) string {
	prefix := map[string]string{"message": "msg_", "reasoning": "rs_", "call": "fc_"}[kind]
	return prefix + run + "_" + strconv.Itoa(n)
}

// enter makes kind the open item.
func (s *Stream) enter(kind string) {
	if s.open == kind {
		return
	}
	switch s.open {
	case "message":
		s.tell(Event{Type: "response.output_text.done", ItemID: s.id(), OutputIndex: s.at(), ContentIndex: new(int), Text: s.text, Logprobs: []any{}})
		s.tell(Event{Type: "response.content_part.done", ItemID: s.id(), OutputIndex: s.at(), ContentIndex: new(int), Part: textPart(s.text)})
	case "reasoning":
		s.tell(Event{Type: "response.reasoning_summary_text.done", ItemID: s.id(), OutputIndex: s.at(), SummaryIndex: new(int), Text: s.text})
		s.tell(Event{Type: "response.reasoning_summary_part.done", ItemID: s.id(), OutputIndex: s.at(), SummaryIndex: new(int), Part: summaryPart(s.text)})
	}
	if s.open != "" {
		done := s.item("completed")
		s.tell(Event{Type: "response.output_item.done", OutputIndex: s.at(), Item: done})
		s.items = append(s.items, done)
	}
	if s.open, s.text = kind, ""; kind != "" {
		s.begin()
	}
}

func (s *Stream) begin() {
	s.tell(Event{Type: "response.output_item.added", OutputIndex: s.at(), Item: s.item("in_progress")})
	if s.open == "message" {
		s.tell(Event{Type: "response.content_part.added", ItemID: s.id(), OutputIndex: s.at(), ContentIndex: new(int), Part: textPart("")})
		return
	}
	s.tell(Event{Type: "response.reasoning_summary_part.added", ItemID: s.id(), OutputIndex: s.at(), SummaryIndex: new(int), Part: summaryPart("")})
}

// item is the open one as it stands.
func (s *Stream) item(status string) any {
	if s.open == "reasoning" {
		summary := []any{}
		if status == "completed" {
			summary = append(summary, summaryPart(s.text))
		}
		return map[string]any{"id": s.id(), "type": "reasoning", "summary": summary}
	}
	content := []any{}
	if status == "completed" {
		content = append(content, textPart(s.text))
	}
	return map[string]any{"id": s.id(), "type": "message", "status": status, "role": "assistant", "content": content}
}

func textPart(text string) any {
	return map[string]any{"type": "output_text", "text": text, "annotations": []any{}, "logprobs": []any{}}
}

func summaryPart(text string) any { return map[string]any{"type": "summary_text", "text": text} }

func (s *Stream) call(c Call) {
	id := itemID("call", s.a.ID, len(s.items))
	shape := func(status, arguments string) any {
		return map[string]any{"id": id, "type": "function_call", "status": status, "call_id": c.ID, "name": c.Name, "arguments": arguments}
	}
	s.tell(Event{Type: "response.output_item.added", OutputIndex: s.at(), Item: shape("in_progress", "")})
	s.tell(Event{Type: "response.function_call_arguments.delta", ItemID: id, OutputIndex: s.at(), Delta: c.Arguments})
	s.tell(Event{Type: "response.function_call_arguments.done", ItemID: id, OutputIndex: s.at(), Name: c.Name, Arguments: c.Arguments})
	done := shape("completed", c.Arguments)
	s.tell(Event{Type: "response.output_item.done", OutputIndex: s.at(), Item: done})
	s.items = append(s.items, done)
}

// Whole is the answer as one response, for clients that do not stream: nothing was told before.
func (s *Stream) Whole() any {
	if s.a.Thoughts != "" {
		s.Think(s.a.Thoughts)
	}
	if s.a.Text != "" {
		s.Say(s.a.Text)
	}
	events := s.End()
	return events[len(events)-1].Response
}

func (s *Stream) response(status string, failed *Error) any {
	a := s.a
	items := s.items
	if items == nil {
		items = []any{}
	}
	out := map[string]any{
		"id": a.Previous, "object": "response", "created_at": a.Created.Unix(), "status": status, "model": a.Model, "output": items,
		"parallel_tool_calls": true, "tool_choice": "auto", "tools": []any{}, "error": nil, "incomplete_details": nil, "instructions": nil,
		"metadata": map[string]any{}, "temperature": nil, "top_p": nil,
	}
	switch {
	case failed != nil:
		out["error"] = map[string]any{"code": failed.Code, "message": failed.Message}
	case status == "incomplete" && a.Finish == FinishFilter:
		out["incomplete_details"] = map[string]any{"reason": "content_filter"}
	case status == "incomplete":
		out["incomplete_details"] = map[string]any{"reason": "max_output_tokens"}
	}
	if status == "completed" || status == "incomplete" {
		u := responseUsage{Input: a.Usage.Prompt, Output: a.Usage.Completion, Total: a.Usage.Prompt + a.Usage.Completion, Cost: a.Usage.Cost}
		u.InputDetails.Cached, u.OutputDetails.Reasoning = a.Usage.Cached, a.Usage.Reasoning
		out["usage"] = u
	}
	return out
}

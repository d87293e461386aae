package openai

import "time"

// Answer is what an agent answered, for either kind of request.
type Answer struct {
	// ID names the run; Previous is what a request of the responses kind calls it.
	ID       string
	Previous string
	Model    string
	Created  time.Time
	Text     string
	// Thoughts is how it came about: thinking, and what it waited for.
	Thoughts string
	Calls    []Call
	Finish   Finish
	Usage    Usage
}

// Finish is why an answer ended.
type Finish string

// The finishes of the chat kind.
const (
	FinishStop   Finish = "stop"
	FinishLength Finish = "length"
	FinishCalls  Finish = "tool_calls"
	FinishFilter Finish = "content_filter"
)

// Usage is what an answer took. Cost is in US dollars; nil if nobody knows.
type Usage struct {
	Prompt, Completion, Cached, Reasoning int64
	Cost                                  *float64
}

type chatUsage struct {
	Prompt        int64 `json:"prompt_tokens"`
	Completion    int64 `json:"completion_tokens"`
	Total         int64 `json:"total_tokens"`
	PromptDetails struct {
		Cached int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	Cost *float64 `json:"cost,omitempty"`
}

func (u Usage) chat() *chatUsage {
	out := &chatUsage{Prompt: u.Prompt, Completion: u.Completion, Total: u.Prompt + u.Completion, Cost: u.Cost}
	out.PromptDetails.Cached, out.CompletionDetails.Reasoning = u.Cached, u.Reasoning
	return out
}

type chatAnswer struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []chatChoice `json:"choices"`
	Usage   *chatUsage   `json:"usage,omitempty"`
}

type chatChoice struct {
	Index    int        `json:"index"`
	Message  *chatWords `json:"message,omitempty"`
	Delta    *chatWords `json:"delta,omitempty"`
	Logprobs any        `json:"logprobs"`
	Finish   *Finish    `json:"finish_reason"`
}

type chatWords struct {
	Role      string     `json:"role,omitempty"`
	Content   *string    `json:"content,omitempty"`
	Reasoning string     `json:"reasoning_content,omitempty"`
	Refusal   any        `json:"refusal,omitempty"`
	Calls     []chatCall `json:"tool_calls,omitempty"`
}

func (a *Answer) chatID() string { return "chatcmpl-" + a.ID }

// Chat is the answer as a chat.completion.
func (a *Answer) Chat() any {
	words := &chatWords{Role: "assistant", Content: &a.Text, Reasoning: a.Thoughts, Calls: chatCalls(a.Calls, false)}
	return chatAnswer{
		ID: a.chatID(), Object: "chat.completion", Created: a.Created.Unix(), Model: a.Model,
		Choices: []chatChoice{{Message: words, Finish: &a.Finish}}, Usage: a.Usage.chat(),
	}
}

func chatCalls(calls []Call, indexed bool) (out []chatCall) {
	for i, c := range calls {
		one := chatCall{ID: c.ID, Type: "function"}
		one.Function.Name, one.Function.Arguments = c.Name, c.Arguments
		if indexed {
			one.Index = &i
		}
		out = append(out, one)
	}
	return out
}

func (a *Answer) chunk(words *chatWords, finish *Finish) any {
	return chatAnswer{
		ID: a.chatID(), Object: "chat.completion.chunk", Created: a.Created.Unix(), Model: a.Model,
		Choices: []chatChoice{{Delta: words, Finish: finish}},
	}
}

// ChatStart is the first chunk of a stream; ChatText, ChatThought and ChatEnd are the others.
func (a *Answer) ChatStart() any {
	return a.chunk(&chatWords{Role: "assistant", Content: new(string)}, nil)
}

// ChatText is a piece of the answer.
func (a *Answer) ChatText(text string) any { return a.chunk(&chatWords{Content: &text}, nil) }

// ChatThought is a piece of how it comes about, which clients show apart or not at all.
func (a *Answer) ChatThought(text string) any { return a.chunk(&chatWords{Reasoning: text}, nil) }

// ChatEnd gives the last chunks: the calls, why it ended, and what was used if that is asked for.
func (a *Answer) ChatEnd(usage bool) (out []any) {
	if len(a.Calls) > 0 {
		out = append(out, a.chunk(&chatWords{Calls: chatCalls(a.Calls, true)}, nil))
	}
	out = append(out, a.chunk(&chatWords{}, &a.Finish))
	if usage {
		out = append(out, chatAnswer{
			ID: a.chatID(), Object: "chat.completion.chunk", Created: a.Created.Unix(), Model: a.Model,
			Choices: []chatChoice{}, Usage: a.Usage.chat(),
		})
	}
	return out
}

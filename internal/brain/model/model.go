package model

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
)

// Role says who speaks in a Message.
type Role string

// The roles every provider understands.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
)

// Message is one entry of the history a model is sent.
type Message struct {
	Role Role
	Text string
	// Files go along with what a person said.
	Files []File `json:",omitempty"`
	// Reasoning is the model's own thinking, kept for providers that want it back.
	Reasoning string
	// ReasoningSignature proves Reasoning to the provider that made it.
	ReasoningSignature string
	// Calls are the tool calls an assistant message made, in call order.
	Calls []Call
	// CallID names the call a tool message answers; Name is that tool's name.
	CallID string
	Name   string
	// IsError marks a tool message that reports a failure.
	IsError bool
	// Injected marks context made afresh for this request: never stored, and a
	// provider may place it where its wire wants such text.
	Injected bool
	// Summary marks the summary of an archived segment: history, not a script.
	Summary bool
	// Interrupted marks an assistant message that was cut short: it is history,
	// but not a finished answer.
	Interrupted bool
}

// File is a picture, a PDF or a voice note. Data is there only in a request that is on its way.
type File struct {
	Digest string `json:"digest"`
	Name   string `json:"name"`
	Type   string `json:"type"`
	Size   int64  `json:"size"`
	Data   []byte `json:"-"`
}

// Words is the text of a message, with a line for every file that is not shown: nothing is left
// out in silence.
func (m *Message) Words() string {
	if len(m.Files) == 0 {
		return m.Text
	}
	var b strings.Builder
	b.WriteString(m.Text)
	for _, f := range m.Files {
		if f.Data == nil {
			fmt.Fprintf(&b, "\n[attached, and not shown to you: %q, %s, %d bytes]", f.Name, f.Type, f.Size)
		}
	}
	if m.Text == "" {
		return strings.TrimPrefix(b.String(), "\n")
	}
	return b.String()
}

// Call is one complete tool call of a model.
type Call struct {
	ID        string
	Name      string
	Arguments string // JSON text exactly as the model wrote it
}

// ToolSpec is what a model is told about a tool.
type ToolSpec struct {
	Name        string
	Description string
	Schema      json.RawMessage // a JSON schema of type object
}

// Purpose says what a request is for; the offline model and accounting need it.
type Purpose string

// The purposes.
const (
	ForTurn    Purpose = "turn"
	ForGuest   Purpose = "guest"
	ForTask    Purpose = "task"
	ForCompact Purpose = "compact"
	ForTitle   Purpose = "title"
)

// Request is one model call.
type Request struct {
	Purpose  Purpose
	Model    string // the provider's own name of the model
	System   string
	Messages []Message
	Tools    []ToolSpec
	// MaxOutput limits completion tokens; 0 leaves it to the provider.
	MaxOutput   int
	Temperature *float64
	Thinking    string // "", "low", "medium", "high"
	// Focus is what a compaction was asked to keep in particular.
	Focus string
	// Attempt counts the tries of this same call, from 1.
	Attempt int
}

// Kind tells what an Event carries.
type Kind uint8

// The kinds of events.
const (
	Text Kind = iota + 1
	Thinking
	CallDelta
	Done
	// Acted is told by agents that are no mere models: they did something by themselves.
	Acted
)

// Event is one piece of a model's answer.
type Event struct {
	Kind Kind
	Text string // Text and Thinking
	// CallDelta: deltas with one Index belong to one call. ID and Name are set
	// when known; Arguments is a fragment to append.
	Index     int
	ID        string
	Name      string
	Arguments string
	// Done: what the call used and why it stopped.
	Usage  Usage
	Finish Finish
	// Signature of the reasoning, where a provider gives one.
	Signature string
	// Act is what an agent of its own did: Acted.
	Act *Act
}

// Act is something that an agent with tools of its own did by itself, or its plan.
type Act struct {
	// The call: its beginning has Arguments, its end a Result, both JSON objects.
	ID, Name, Arguments string
	Result              string
	// Untrusted tells that the agent has read something that strangers may have written.
	Untrusted bool
	// Plan is what it means to do, all of it.
	Plan []Step
}

// Step is one step of a plan; its status is pending, in_progress or completed.
type Step struct{ Title, Status string }

// Finish says why a model stopped.
type Finish string

// The finishes.
const (
	FinishStop   Finish = "stop"
	FinishCalls  Finish = "calls"
	FinishLength Finish = "length"
	FinishFilter Finish = "filter"
	// FinishMore is an answer that goes on: whoever pays looks at what it cost up to here, and asks on.
	FinishMore Finish = "more"
)

// Usage is what a call cost, as the provider reported it.
type Usage struct {
	Prompt     int64
	Completion int64
	CacheHit   int64
	CacheMiss  int64
	// CacheWrite is the part of CacheMiss that was written to the cache, which
	// some providers bill at a higher price.
	CacheWrite int64
	Reasoning  int64
	// CostMicros is in millionths of a US dollar; CostKnown tells 0 from unknown.
	CostMicros int64
	CostKnown  bool
	Rounds     int64
}

// Total is prompt plus completion.
func (u Usage) Total() int64 { return u.Prompt + u.Completion }

// Add sums two usages. A sum's cost is known only if both are, or one is empty.
func (u Usage) Add(v Usage) Usage {
	if u == (Usage{}) {
		return v
	}
	if v == (Usage{}) {
		return u
	}
	return Usage{
		Prompt: u.Prompt + v.Prompt, Completion: u.Completion + v.Completion,
		CacheHit: u.CacheHit + v.CacheHit, CacheMiss: u.CacheMiss + v.CacheMiss,
		CacheWrite: u.CacheWrite + v.CacheWrite,
		Reasoning:  u.Reasoning + v.Reasoning, CostMicros: u.CostMicros + v.CostMicros,
		CostKnown: u.CostKnown && v.CostKnown, Rounds: u.Rounds + v.Rounds,
	}
}

// Provider turns a request into a stream of events. Implementations make one
// attempt; retrying is the caller's.
type Provider interface {
	Name() string
	Stream(ctx context.Context, req Request) iter.Seq2[Event, error]
}

// InProcess is a Provider that makes its answers up in this process, without
// waiting for anybody, and returns at once when ctx ends or nobody wants more. It
// is run on its caller's goroutine; others run on one of their own, where they are
// watched for silence and can be left behind.
type InProcess interface {
	Provider
	InProcess()
}

// Ref names a model as people write it: "provider:name".
type Ref struct{ Provider, Model string }

// ParseRef reads "provider:name"; a bare word is a provider with its own default.
func ParseRef(s string) Ref {
	p, m, _ := strings.Cut(s, ":")
	return Ref{Provider: p, Model: m}
}

// String is the form ParseRef reads.
func (r Ref) String() string {
	if r.Model == "" {
		return r.Provider
	}
	return r.Provider + ":" + r.Model
}

// CleanID fits a name or an id to the alphabet that every provider knows: letters,
// digits, _ and -.
func CleanID(id string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		default:
			return '_'
		}
	}, id)
}

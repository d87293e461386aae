package memory

import (
	"encoding/json"
	"errors"
	"time"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/eventlog"
)

// What can be wrong with a request.
var (
	ErrNotFound  = errors.New("no such conversation")
	ErrNoArchive = errors.New("no such archive")
	ErrNothing   = errors.New("nothing to compact")
	ErrExists    = errors.New("the conversation has messages already")
	ErrTooMany   = errors.New("too many notes")
	ErrTooLong   = errors.New("the note is too long")
)

// Key addresses a conversation: an agent, whom it talks with, and the thread.
type Key struct {
	Agent  string
	Sender string
	Thread string
}

// Guard fences writes; a *lease.Lease is one. nil for writes without an owner.
type Guard = eventlog.Guard

// Conversation is an agent's memory with one sender, in one thread.
type Conversation struct {
	ID string
	Key
	// Number is 1 for the main thread of its pair, then by creation.
	Number int64
	Title  string
	// Messages counts all stored ones; LastSeq is the newest one's number.
	Messages int64
	LastSeq  int64
	// WindowFrom is the first message of the live window.
	WindowFrom int64
	// Archive is the newest archive, whose summary leads the window; "" for none.
	Archive string
	Hidden  bool
	Created time.Time
	Last    time.Time
	first   time.Time
}

// Message is one stored message. Seq and At are set by Append.
type Message struct {
	Seq int64
	At  time.Time
	// Run is the run it belongs to.
	Run string
	// Agent is the guest who said it; empty is the primary agent.
	Agent string
	model.Message
	// Usage is what the model call that made it used.
	Usage model.Usage
	// Outcome is how the turn ended whose last words these are; nothing for all others.
	Outcome Outcome
}

// Archive is a segment of a conversation that left the window.
type Archive struct {
	ID           string
	Conversation string
	Thread       string
	Title        string
	Summary      string
	// ArchivedAt is the text of the moment: RFC 3339, or empty in old imports.
	ArchivedAt string
	FromSeq    int64
	ToSeq      int64
	Messages   int64
	Model      string
	Usage      model.Usage
	Automatic  bool
	Focus      string
}

// Note is something an agent was told to remember.
type Note struct {
	Name string
	Text string
	At   time.Time
}

func encodeCalls(calls []model.Call) string {
	if len(calls) == 0 {
		return ""
	}
	b, _ := json.Marshal(calls) // strings only: cannot fail
	return string(b)
}

func decodeCalls(text string) (calls []model.Call, err error) {
	if text == "" {
		return nil, nil
	}
	err = json.Unmarshal([]byte(text), &calls)
	return calls, err
}

func encodeFiles(files []model.File) string {
	if len(files) == 0 {
		return ""
	}
	b, _ := json.Marshal(files) // names and numbers: cannot fail
	return string(b)
}

func decodeFiles(text string) (files []model.File, err error) {
	if text == "" {
		return nil, nil
	}
	err = json.Unmarshal([]byte(text), &files)
	return files, err
}

func encodeUsage(u model.Usage) string {
	if u == (model.Usage{}) {
		return ""
	}
	b, _ := json.Marshal(u)
	return string(b)
}

func decodeUsage(text string) (u model.Usage, err error) {
	if text == "" {
		return u, nil
	}
	err = json.Unmarshal([]byte(text), &u)
	return u, err
}

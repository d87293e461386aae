package elsewhere

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"time"

	"parley.internal/protocol/agentfirst"
)

// What can be wrong with a file.
var (
	ErrUnknown  = errors.New("this is no conversation file that is known here")
	ErrTooLarge = errors.New("a conversation in it is too large")
)

// Kind names the program a file came from.
type Kind string

// The kinds.
const (
	ChatGPT    Kind = "chatgpt"
	Claude     Kind = "claude"
	ClaudeCode Kind = "claude-code"
	OpenClaw   Kind = "openclaw"
	// Session is a file that hubs import as it is.
	Session Kind = "session"
)

// Message is something that was said.
type Message struct {
	Assistant bool
	Text      string
	At        time.Time
}

// Conversation is one of a file.
type Conversation struct {
	Kind     Kind
	ID       string
	Title    string
	Started  time.Time
	Messages []Message
	// Skipped counts messages without words, such as pictures and calls of tools.
	Skipped int
}

// Thread names a thread for the conversation. It is always the same for the same one, so
// that importing it again is noticed.
func (c *Conversation) Thread() string {
	id := c.ID
	if id == "" || agentfirst.CheckThread(string(c.Kind)+":"+id) != nil {
		sum := sha256.Sum256([]byte(c.ID + "\x00" + c.Title + "\x00" + c.Started.UTC().Format(time.RFC3339Nano)))
		id = hex.EncodeToString(sum[:8])
	}
	return string(c.Kind) + ":" + id
}

// Write gives the conversation as the JSON lines that a hub imports.
func (c *Conversation) Write(w io.Writer, agent, sender string) error {
	e := agentfirst.NewExportEncoder(w)
	meta := agentfirst.ExportMeta{Agent: agent, CreatedBy: sender, CreatedAt: c.Started, Title: c.Title}
	if n := len(c.Messages); n > 0 {
		if lasted := c.Messages[n-1].At.Sub(c.Started); lasted > 0 && !c.Started.IsZero() {
			meta.UptimeSecs = uint64(lasted / time.Second)
		}
	}
	if err := e.Meta(meta); err != nil {
		return err
	}
	for _, m := range c.Messages {
		role := "user"
		if m.Assistant {
			role = "assistant"
		}
		if err := e.Message(agentfirst.ExportMessage{Role: role, Content: m.Text}); err != nil {
			return err
		}
	}
	return nil
}

// say adds a message, or counts one that has no words.
func (c *Conversation) say(assistant bool, text string, at time.Time) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if strings.TrimSpace(text) == "" {
		c.Skipped++
		return
	}
	if c.Started.IsZero() {
		c.Started = at
	}
	c.Messages = append(c.Messages, Message{assistant, text, at})
}

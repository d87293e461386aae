package elsewhere

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"time"

	"parley.internal/protocol/agentfirst"
)

// maxLine is the longest line that is looked at; a longer one holds no words of people.
const maxLine = 64 << 20

// sessionLine is a line of a history that is kept as JSON lines.
type sessionLine struct {
	Type      string    `json:"type"`
	ID        string    `json:"id"`
	Timestamp time.Time `json:"timestamp"`
	Message   *struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"message"`

	// Claude Code.
	SessionID string `json:"sessionId"`
	LeafUUID  string `json:"leafUuid"`
	Summary   string `json:"summary"`
	Sidechain bool   `json:"isSidechain"` // said among the program's own helpers
	Meta      bool   `json:"isMeta"`      // written by the program in the person's name

	// Our own.
	Agent     string `json:"agent"`
	CreatedBy string `json:"created_by"`
}

// readLines reads a history: one conversation in one file.
func readLines(in *bufio.Reader, kind Kind, yield func(*Conversation, error) bool) {
	c := &Conversation{Kind: kind}
	for size := 0; ; {
		line, err := nextLine(in)
		if err != nil && !errors.Is(err, io.EOF) {
			yield(nil, err)
			return
		}
		if size += len(line); size > maxConversation {
			yield(nil, ErrTooLarge)
			return
		}
		var l sessionLine
		if len(bytes.TrimSpace(line)) > 0 && json.Unmarshal(line, &l) == nil {
			c.line(&l)
		}
		if err != nil {
			break
		}
	}
	if c.Title == "" && len(c.Messages) > 0 {
		c.Title = agentfirst.Title(c.Messages[0].Text)
	}
	yield(c, nil)
}

// nextLine gives a line, or nothing of one that is too long; io.EOF comes with the last.
func nextLine(in *bufio.Reader) (line []byte, err error) {
	long := false
	for {
		part, err := in.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxLine; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func (c *Conversation) line(l *sessionLine) {
	switch {
	case l.Type == "session" && c.ID == "":
		c.ID, c.Started = l.ID, l.Timestamp
	case l.Type == "summary" && c.Title == "":
		c.Title = l.Summary
	}
	if c.ID == "" {
		c.ID = l.SessionID
	}
	m := l.Message
	if m == nil || l.Sidechain || l.Meta || m.Role != "user" && m.Role != "assistant" {
		return
	}
	c.say(m.Role == "assistant", words(m.Content), l.Timestamp)
}

// words are what a message says: a text, or the texts among its blocks.
func words(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var blocks []block
	if json.Unmarshal(content, &blocks) != nil {
		return ""
	}
	return textOf(blocks)
}

package elsewhere

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"
)

// exported is a conversation of an export, of either product.
type exported struct {
	// ChatGPT: a tree of messages, of which the branch that ends with the current one counts.
	ID          string          `json:"id"`
	Other       string          `json:"conversation_id"`
	Title       string          `json:"title"`
	CreateTime  float64         `json:"create_time"`
	Mapping     map[string]node `json:"mapping"`
	CurrentNode string          `json:"current_node"`

	// Claude: a list.
	UUID      string          `json:"uuid"`
	Name      string          `json:"name"`
	CreatedAt time.Time       `json:"created_at"`
	Chat      []claudeMessage `json:"chat_messages"`
}

type node struct {
	Parent  string `json:"parent"`
	Message *struct {
		Author struct {
			Role string `json:"role"`
		} `json:"author"`
		CreateTime float64 `json:"create_time"`
		Content    struct {
			Type  string            `json:"content_type"`
			Parts []json.RawMessage `json:"parts"`
		} `json:"content"`
		Metadata struct {
			Hidden bool `json:"is_visually_hidden_from_conversation"`
		} `json:"metadata"`
	} `json:"message"`
}

type claudeMessage struct {
	Sender    string    `json:"sender"`
	Text      string    `json:"text"`
	Content   []block   `json:"content"`
	CreatedAt time.Time `json:"created_at"`
	Files     []struct {
		Name string `json:"file_name"`
		Text string `json:"extracted_content"`
	} `json:"attachments"`
}

// block is a part of a message, as Claude's products and OpenClaw keep it.
type block struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func (e *exported) conversation() *Conversation {
	switch {
	case e.Mapping != nil:
		return e.chatGPT()
	case e.Chat != nil:
		return e.claude()
	}
	return nil
}

func (e *exported) chatGPT() *Conversation {
	c := &Conversation{Kind: ChatGPT, ID: e.ID, Title: e.Title, Started: unix(e.CreateTime)}
	if c.ID == "" {
		c.ID = e.Other
	}
	for _, n := range e.branch() {
		m := n.Message
		if m == nil || m.Metadata.Hidden || m.Author.Role != "user" && m.Author.Role != "assistant" {
			continue
		}
		var said []string
		for _, part := range m.Content.Parts {
			var text string
			if json.Unmarshal(part, &text) == nil {
				said = append(said, text)
			}
		}
		c.say(m.Author.Role == "assistant", strings.Join(said, "\n"), unix(m.CreateTime))
	}
	return c
}

// branch goes from the current message to the first. A tree that leads in circles ends
// when every message was met.
func (e *exported) branch() (nodes []node) {
	for id := e.CurrentNode; len(nodes) <= len(e.Mapping); {
		n, ok := e.Mapping[id]
		if !ok {
			break
		}
		nodes = append(nodes, n)
		id = n.Parent
	}
	slices.Reverse(nodes)
	return nodes
}

func (e *exported) claude() *Conversation {
	c := &Conversation{Kind: Claude, ID: e.UUID, Title: e.Name, Started: e.CreatedAt}
	for _, m := range e.Chat {
		text := textOf(m.Content)
		if text == "" {
			text = m.Text
		}
		for _, f := range m.Files {
			text += "\n\nAttached file " + f.Name + ":\n" + f.Text
		}
		c.say(m.Sender == "assistant", text, m.CreatedAt)
	}
	return c
}

func textOf(blocks []block) string {
	var said []string
	for _, b := range blocks {
		if b.Type == "text" && b.Text != "" {
			said = append(said, b.Text)
		}
	}
	return strings.Join(said, "\n")
}

// unix reads seconds with a fraction; nonsense is no time.
func unix(seconds float64) time.Time {
	if math.IsNaN(seconds) || seconds <= 0 || seconds > 1<<33 {
		return time.Time{}
	}
	whole, part := math.Modf(seconds)
	return time.Unix(int64(whole), int64(part*1e9)).UTC()
}

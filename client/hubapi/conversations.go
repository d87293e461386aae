package hubapi

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Conversation is an agent's memory with one sender, in one thread.
type Conversation struct {
	ID       string    `json:"id"`
	FilePath string    `json:"file_path"`
	Agent    string    `json:"agent"`
	Sender   string    `json:"sender"`
	Thread   string    `json:"thread"`
	Number   int64     `json:"seq"`
	Title    string    `json:"title"`
	Messages int64     `json:"message_count"`
	Live     int64     `json:"live_count"`
	Loaded   time.Time `json:"loaded_at,omitzero"`
	Created  time.Time `json:"created_at"`
	Last     time.Time `json:"last_at"`
	// Usage is nil in a list.
	Usage *Usage `json:"usage,omitempty"`
}

// Usage is what turns and summaries used so far.
type Usage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Total      int64 `json:"total_tokens"`
	// Cost is nil while no price is known of any of it; CostKnown tells whether it
	// covers all of it.
	Cost      *float64 `json:"cost_usd,omitempty"`
	CostKnown bool     `json:"cost_known"`
	Rounds    int64    `json:"rounds"`
}

// Conversations lists conversations, newest activity first; empty agent or sender
// = any.
func (c *Client) Conversations(ctx context.Context, agent, sender string) ([]Conversation, error) {
	var out struct {
		Conversations []Conversation `json:"conversations"`
	}
	err := c.Do(ctx, http.MethodGet, "/api/conversations", values("agent", agent, "sender", sender), nil, &out)
	return out.Conversations, err
}

// values are the pairs whose value is not empty.
func values(pairs ...string) url.Values {
	v := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			v.Set(pairs[i], pairs[i+1])
		}
	}
	return v
}

func conversationPath(id string) string { return "/api/conversations/" + url.PathEscape(id) }

// Conversation returns one conversation.
func (c *Client) Conversation(ctx context.Context, id string) (out Conversation, err error) {
	return out, c.Do(ctx, http.MethodGet, conversationPath(id), nil, nil, &out)
}

// RenameConversation gives a conversation another title.
func (c *Client) RenameConversation(ctx context.Context, id, title string) (out Conversation, err error) {
	return out, c.Do(ctx, http.MethodPatch, conversationPath(id), nil, map[string]string{"title": title}, &out)
}

// RemoveConversation removes a conversation and everything in it.
func (c *Client) RemoveConversation(ctx context.Context, id string) error {
	return c.Do(ctx, http.MethodDelete, conversationPath(id), nil, nil, nil)
}

// Message is one thing that was said; Agent is the guest who said it.
type Message struct {
	Seq     int64     `json:"seq"`
	Role    string    `json:"role"`
	Content string    `json:"content"`
	Agent   string    `json:"agent,omitempty"`
	At      time.Time `json:"at,omitzero"`
	Summary bool      `json:"summary,omitempty"`
	// Outcome is how the turn ended whose last words these are, OutcomeCode why.
	Outcome     string `json:"outcome,omitempty"`
	OutcomeCode string `json:"outcome_code,omitempty"`
}

// MessageQuery selects messages: the newest Limit below Before, of the window or,
// Archived, from the beginning.
type MessageQuery struct {
	Before   int64
	Limit    int
	Archived bool
}

// Messages returns what was said, oldest first.
func (c *Client) Messages(ctx context.Context, id string, q MessageQuery) ([]Message, error) {
	var out struct {
		Messages []Message `json:"messages"`
	}
	query := values("before", number(q.Before), "limit", number(int64(q.Limit)))
	if q.Archived {
		query.Set("archived", "true")
	}
	err := c.Do(ctx, http.MethodGet, conversationPath(id)+"/messages", query, nil, &out)
	return out.Messages, err
}

func number(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// Archive is a segment of a conversation that left the window.
type Archive struct {
	ID         string `json:"id"`
	Title      string `json:"title"`
	Summary    string `json:"summary"`
	ArchivedAt string `json:"archived_at"`
	FromSeq    int64  `json:"from_seq"`
	ToSeq      int64  `json:"to_seq"`
	Messages   int64  `json:"message_count"`
	Thread     string `json:"thread"`
	Automatic  bool   `json:"automatic"`
	Focus      string `json:"focus,omitempty"`
	Model      string `json:"model,omitempty"`
}

// Archives lists a conversation's archives, oldest first.
func (c *Client) Archives(ctx context.Context, id string) ([]Archive, error) {
	var out struct {
		Archives []Archive `json:"archives"`
	}
	err := c.Do(ctx, http.MethodGet, conversationPath(id)+"/archives", nil, nil, &out)
	return out.Archives, err
}

// ArchivePage is an archive and its raw messages.
type ArchivePage struct {
	ID         string    `json:"id"`
	Title      string    `json:"title"`
	Summary    string    `json:"summary"`
	ArchivedAt string    `json:"archived_at"`
	Agent      string    `json:"agent"`
	Sender     string    `json:"sender"`
	Thread     string    `json:"thread"`
	Messages   []Message `json:"messages"`
	Truncated  bool      `json:"truncated"`
}

// Archive returns one archive.
func (c *Client) Archive(ctx context.Context, id string) (out ArchivePage, err error) {
	return out, c.Do(ctx, http.MethodGet, "/api/archives/"+url.PathEscape(id), nil, nil, &out)
}

// Compact archives a conversation's window behind a summary.
func (c *Client) Compact(ctx context.Context, id, focus string) (out Archive, err error) {
	return out, c.Do(ctx, http.MethodPost, conversationPath(id)+"/compact", nil, map[string]string{"focus": focus}, &out)
}

// ExportConversation writes a whole conversation as JSON lines.
func (c *Client) ExportConversation(ctx context.Context, id string, w io.Writer) error {
	body, err := c.Open(ctx, http.MethodGet, conversationPath(id)+"/export", nil, nil)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	_, err = io.Copy(w, body)
	return err
}

// ImportTarget is where an imported conversation goes; empty fields are the
// file's own.
type ImportTarget struct {
	Agent, Sender, Thread string
	// Append adds to a conversation that has messages already.
	Append bool
	// DryRun only counts.
	DryRun bool
}

// Imported tells what an import did.
type Imported struct {
	ID       string `json:"id,omitempty"`
	FilePath string `json:"file_path,omitempty"`
	Agent    string `json:"agent"`
	Sender   string `json:"sender"`
	Thread   string `json:"thread"`
	Messages int    `json:"messages"`
	Archives int    `json:"archives"`
	Skipped  int    `json:"skipped"`
	DryRun   bool   `json:"dry_run,omitempty"`
}

// ImportConversation stores a conversation from JSON lines.
func (c *Client) ImportConversation(ctx context.Context, r io.Reader, to ImportTarget) (out Imported, err error) {
	query := values("agent", to.Agent, "sender", to.Sender, "thread", to.Thread)
	if to.Append {
		query.Set("append", "true")
	}
	if to.DryRun {
		query.Set("dry_run", "true")
	}
	return out, c.Do(ctx, http.MethodPost, "/api/conversations/import", query, r, &out)
}

// SearchQuery is what to look for; empty fields match everything.
type SearchQuery struct {
	Text, Agent, Sender, Thread string
	Limit                       int
}

// Hit is one thing that was found.
type Hit struct {
	Kind         string      `json:"kind"`
	Conversation string      `json:"conversation_id,omitempty"`
	Archive      string      `json:"archive_id,omitempty"`
	Agent        string      `json:"agent"`
	Sender       string      `json:"sender"`
	Thread       string      `json:"thread"`
	Seq          int64       `json:"seq,omitempty"`
	Role         string      `json:"role,omitempty"`
	Speaker      string      `json:"speaker,omitempty"`
	Snippet      string      `json:"snippet"`
	Cut          bool        `json:"cut,omitempty"`
	At           time.Time   `json:"at,omitzero"`
	Score        float64     `json:"score"`
	Title        string      `json:"title,omitempty"`
	Window       []Neighbour `json:"window,omitempty"`
}

// Neighbour is a message beside a hit.
type Neighbour struct {
	Seq     int64  `json:"seq"`
	Role    string `json:"role"`
	Speaker string `json:"speaker,omitempty"`
	Text    string `json:"text"`
	Cut     bool   `json:"cut,omitempty"`
}

// SearchConversations finds messages, archives and notes.
func (c *Client) SearchConversations(ctx context.Context, q SearchQuery) ([]Hit, error) {
	var out struct {
		Hits []Hit `json:"hits"`
	}
	query := values("q", q.Text, "agent", q.Agent, "sender", q.Sender, "thread", q.Thread, "limit", number(int64(q.Limit)))
	err := c.Do(ctx, http.MethodGet, "/api/conversations/search", query, nil, &out)
	return out.Hits, err
}

// RedoArchive has an archive summarised again from its raw messages.
func (c *Client) RedoArchive(ctx context.Context, id, focus string) (out Archive, err error) {
	return out, c.Do(ctx, http.MethodPost, "/api/archives/"+url.PathEscape(id)+"/redo", nil, map[string]string{"focus": focus}, &out)
}

package rest

import (
	"io"
	"time"
)

// What was said and what is remembered.
var (
	ListConversations   = Get[ConversationQuery, Conversations]("/api/conversations", "List conversations, newest activity first")
	SearchConversations = Get[SearchQuery, Hits]("/api/conversations/search", "Find messages, archives and notes")
	GetConversation     = Get[ByID, Conversation]("/api/conversations/{id}", "One conversation")
	RenameConversation  = Patch[ConversationTitle, Conversation]("/api/conversations/{id}", "Give it another title")
	RemoveConversation  = Delete[ByID, None]("/api/conversations/{id}", "Remove it and everything in it")
	ListMessages        = Get[MessageQuery, Messages]("/api/conversations/{id}/messages", "What was said, oldest first")
	ListToolUses        = Get[ToolUseQuery, ToolUses]("/api/conversations/{id}/tools", "What its tools did, oldest first")
	ListArchives        = Get[ArchiveQuery, Archives]("/api/conversations/{id}/archives", "Its archives, oldest first")
	CompactConversation = Post[Summary, Archive]("/api/conversations/{id}/compact", "Archive the window behind a summary")
	ExportConversation  = Get[ByID, None]("/api/conversations/{id}/export", "All of it as JSON lines").As("application/jsonl")
	ImportConversation  = Post[ConversationImport, Imported]("/api/conversations/import", "Store a conversation from JSON lines; query: agent, sender, thread, append, dry_run")
	GetArchive          = Get[ArchivePageQuery, ArchivePage]("/api/archives/{id}", "An archive and its raw messages")
	RedoArchive         = Post[Summary, Archive]("/api/archives/{id}/redo", "Summarise it again from its raw messages")
)

// ConversationQuery chooses conversations; empty fields match everything.
type ConversationQuery struct {
	Agent  string `query:"agent"`
	Sender string `query:"sender"`
}

// Conversation is an agent's memory with one sender, in one thread.
type Conversation struct {
	ID       string    `json:"id"`
	FilePath string    `json:"file_path" doc:"its handle on the wire"`
	Agent    string    `json:"agent"`
	Sender   string    `json:"sender"`
	Thread   string    `json:"thread"`
	Number   int64     `json:"seq" doc:"1 for the main thread of its pair"`
	Title    string    `json:"title"`
	Messages int64     `json:"message_count"`
	Live     int64     `json:"live_count" doc:"messages in the window"`
	Loaded   time.Time `json:"loaded_at,omitzero"`
	Created  time.Time `json:"created_at"`
	Last     time.Time `json:"last_at"`
	// Usage is in the answer about one conversation: a list would have to sum all of them.
	Usage *Usage `json:"usage,omitempty" doc:"what its turns and its summaries used so far; only when one conversation is asked for"`
}

// Conversations is a list of them.
type Conversations struct {
	Conversations []Conversation `json:"conversations"`
}

// Usage is a use of models.
type Usage struct {
	Prompt     int64    `json:"prompt_tokens"`
	Completion int64    `json:"completion_tokens"`
	Total      int64    `json:"total_tokens"`
	Cost       *float64 `json:"cost_usd,omitempty" doc:"absent while no price is known of any of it"`
	CostKnown  bool     `json:"cost_known" doc:"whether cost_usd covers all of it"`
	Rounds     int64    `json:"rounds" doc:"calls of a model"`
}

// ConversationTitle gives a conversation another title.
type ConversationTitle struct {
	ID   string `path:"id"`
	Body Title
}

// Title is what people call a conversation.
type Title struct {
	Title string `json:"title" maxLength:"512"`
}

// MessageQuery selects messages: the newest Limit below Before, of the window or,
// Archived, from the beginning.
type MessageQuery struct {
	ID       string `path:"id"`
	Before   int64  `query:"before" minimum:"0" doc:"only numbers below"`
	Limit    int    `query:"limit" minimum:"0" maximum:"10000" doc:"the newest of them; 0 for all"`
	Archived bool   `query:"archived" doc:"the raw messages from the beginning instead of the window"`
}

// Message is one thing that was said; Agent is the guest who said it.
type Message struct {
	Seq     int64     `json:"seq"`
	Role    string    `json:"role"`
	Content string    `json:"content"`
	Agent   string    `json:"agent,omitempty"`
	At      time.Time `json:"at,omitzero"`
	Summary bool      `json:"summary,omitempty" doc:"the summary of what was archived before"`
	// Outcome is on the last words of a turn.
	Outcome     string `json:"outcome,omitempty" doc:"how the turn ended whose last words these are: complete, cut, cancelled, interrupted or failed"`
	OutcomeCode string `json:"outcome_code,omitempty" doc:"why"`
	Files       []File `json:"files,omitempty" doc:"what goes along with it"`
}

// Messages is a list of them.
type Messages struct {
	Messages  []Message `json:"messages"`
	Truncated bool      `json:"truncated"`
}

// ToolUseQuery selects what tools did.
type ToolUseQuery struct {
	ID     string `path:"id"`
	After  int64  `query:"after" minimum:"0" doc:"only of messages with numbers above"`
	Before int64  `query:"before" minimum:"0" doc:"only of messages with numbers below"`
}

// ToolUse is what a tool did in a conversation.
type ToolUse struct {
	Seq       int64  `json:"seq" doc:"number of the message that made the call"`
	Run       string `json:"run_id"`
	Agent     string `json:"agent,omitempty" doc:"the guest who called; empty for the conversation's own agent"`
	Call      string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	Output    string `json:"output"`
	LeftOut   int    `json:"left_out_bytes,omitempty"`
	Failed    bool   `json:"failed,omitempty"`
	Answered  bool   `json:"answered" doc:"false while the tool is at work, or when it was cut short"`
}

// ToolUses is a list of them.
type ToolUses struct {
	Tools     []ToolUse `json:"tools"`
	Truncated bool      `json:"truncated" doc:"there are older ones"`
}

// ArchiveQuery selects archives.
type ArchiveQuery struct {
	ID     string `path:"id"`
	Before string `query:"before" doc:"only those before this archive"`
	Limit  int    `query:"limit" minimum:"0" maximum:"10000"`
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

// Archives is a list of them.
type Archives struct {
	Archives []Archive `json:"archives"`
}

// Summary asks for a summary of a conversation's window, or of an archive again.
type Summary struct {
	ID   string `path:"id"`
	Body Focus  `required:"false"`
}

// Focus is what a summary should keep in particular.
type Focus struct {
	Focus string `json:"focus,omitempty" maxLength:"4000" doc:"what the summary should keep in particular"`
}

// ArchivePageQuery selects messages of an archive.
type ArchivePageQuery struct {
	ID    string `path:"id"`
	After int64  `query:"after" minimum:"0"`
	Limit int    `query:"limit" minimum:"0" maximum:"10000"`
}

// ArchivePage is an archive and its raw messages.
type ArchivePage struct {
	Archive
	Agent     string    `json:"agent"`
	Sender    string    `json:"sender"`
	List      []Message `json:"messages"`
	Truncated bool      `json:"truncated"`
}

// SearchQuery is what to look for; empty fields match everything.
type SearchQuery struct {
	Text   string    `query:"q" required:"true" maxLength:"1000"`
	Agent  string    `query:"agent"`
	Sender string    `query:"sender"`
	Thread string    `query:"thread"`
	After  time.Time `query:"after"`
	Before time.Time `query:"before"`
	Limit  int       `query:"limit" minimum:"0" maximum:"20"`
	Window int       `query:"window" minimum:"0" maximum:"16" doc:"neighbours shown on each side"`
}

// Hit is one thing that was found.
type Hit struct {
	Kind         string      `json:"kind" enum:"message,archive,note"`
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

// Hits is what was found.
type Hits struct {
	Hits      []Hit `json:"hits"`
	Truncated bool  `json:"truncated"`
}

// ConversationImport is a conversation as JSON lines, and where it goes; what is empty
// is as the file says.
type ConversationImport struct {
	Agent  string    `query:"agent"`
	Sender string    `query:"sender"`
	Thread string    `query:"thread"`
	Append bool      `query:"append" doc:"add to a conversation that has messages already"`
	DryRun bool      `query:"dry_run" doc:"only count"`
	Body   io.Reader `contentType:"application/jsonl"`
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

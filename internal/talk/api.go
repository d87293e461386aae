package talk

import (
	"context"
	"io"
	"iter"
	"time"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/identity"
	"parley.internal/internal/talk/memory"
)

// Key addresses a conversation.
type Key = memory.Key

// Mode is what a turn does while another one runs. The numbers are the wire's.
type Mode uint8

// The modes.
const (
	Queue     Mode = 0 // wait
	Steer     Mode = 1 // join the run at its next model call
	Interrupt Mode = 2 // cancel the run and go next
)

// TurnRequest is one thing a person says.
type TurnRequest struct {
	Key     Key
	Content string
	// Files are digests of files of the caller's that go along.
	Files []string
	// Guest answers instead of the primary agent, in the primary's conversation.
	Guest string
	// Cwd is the client's working directory; used if the workspace allows it.
	Cwd  string
	Mode Mode
	// Detached turns go on when their client leaves.
	Detached bool
	// Left says that the client is gone already: its words are kept, and no model is
	// called for them unless the turn is detached or a device looks on.
	Left bool
	// IdempotencyKey makes a repeated request join or replay the first one.
	IdempotencyKey string
	// Tools are those that the client runs itself. A call of one ends the run ([Event.Calls]
	// of its end), and a turn with Results goes on.
	Tools []model.ToolSpec
	// Results answer the calls that the turn before ended with; Content may be empty then.
	Results []ClientResult
	// Brief is what the client's program adds for this turn alone. The agent reads it as words of
	// the person, before the content; it is not kept.
	Brief string
	// Program says that whoever sends the turn may be no screen of a person's: the credential it
	// came with cannot answer what the turn makes an agent ask.
	Program bool
	// Tainted says that there are words of strangers in what the turn brings along.
	Tainted bool
	// NoStream says that the client sees nothing before the answer (the wire's
	// send): it cannot be asked questions.
	NoStream bool
}

// ClientResult is what a tool of the client's own gave back.
type ClientResult struct {
	CallID string `json:"id"`
	Text   string `json:"text"`
}

// Reply is a finished run as the wire's send answers it.
type Reply struct {
	Run   string
	Agent string
	// Text is the last round's.
	Text string
	End  Event
}

// Info is a conversation in a listing.
type Info struct {
	memory.Conversation
	// Live counts the messages of the window; Loaded is since when a hub has it
	// loaded, zero if none has.
	Live   int64
	Loaded time.Time
}

// HistoryRequest selects messages of a conversation.
type HistoryRequest struct {
	BeforeSeq int64
	Limit     int
	// Archived gives the raw messages from the beginning instead of the window.
	Archived bool
}

// History is what was said, oldest first: user and assistant messages with text.
// After a compaction a window is led by the summary, as a user message marked
// Summary.
type History struct {
	Conversation memory.Conversation
	Messages     []memory.Message
	Truncated    bool
}

// ArchivePage is an archive and some of its raw messages.
type ArchivePage struct {
	Archive   memory.Archive
	Key       Key
	Messages  []memory.Message
	Truncated bool
}

// Filter narrows a subscription; empty fields match everything.
type Filter struct{ Agent, Sender string }

// Schedule is a turn that comes by itself: "/SKILL" said to an agent.
type Schedule = memory.Schedule

// Stats are figures of this hub.
type Stats struct {
	Since  time.Time
	Active int
	Runs   int
}

// API is all a face needs. *Talk is one; tests of faces may bring their own.
type API interface {
	// Turn accepts a turn: it is durable when Turn returns. An unknown guest gives
	// a Run whose events are start and end.
	Turn(ctx context.Context, who identity.Actor, req TurnRequest) (*Run, error)
	// Cancel ends the running turn, or the waiting or running one that is named.
	Cancel(ctx context.Context, who identity.Actor, key Key, run string) error
	// Kill cancels the run, ends waiting turns and unloads.
	Kill(ctx context.Context, who identity.Actor, key Key) error
	// Reply answers the oldest open question, or the one that is named.
	Reply(ctx context.Context, who identity.Actor, key Key, askID, content string) error
	// Compact archives the window; it waits behind a running turn.
	Compact(ctx context.Context, who identity.Actor, key Key, focus string) (memory.Archive, error)

	// Attach gives stored messages above afterSeq (or the last history ones), what
	// is going on, CaughtUp, and then everything as it happens, until ctx ends.
	Attach(ctx context.Context, who identity.Actor, key Key, afterSeq int64, history int) iter.Seq2[ConversationEvent, error]
	// Subscribe gives all activity the caller may see, until ctx ends.
	Subscribe(ctx context.Context, who identity.Actor, f Filter) iter.Seq2[Activity, error]

	ListActive(ctx context.Context, who identity.Actor, f Filter) ([]Info, error)
	List(ctx context.Context, who identity.Actor, f Filter) ([]Info, error)
	// Find looks a key up; Get an id (of a handle).
	Find(ctx context.Context, who identity.Actor, key Key) (Info, error)
	Get(ctx context.Context, who identity.Actor, id string) (Info, error)
	// Usage sums what a conversation has used: its turns and its summaries.
	Usage(ctx context.Context, who identity.Actor, id string) (model.Usage, error)
	History(ctx context.Context, who identity.Actor, id string, req HistoryRequest) (History, error)
	// ToolUses gives what tools did between two numbers of messages.
	ToolUses(ctx context.Context, who identity.Actor, id string, after, before int64) (list []ToolUse, truncated bool, err error)
	// Archives lists oldest first; before is an archive id to stop at.
	Archives(ctx context.Context, who identity.Actor, key Key, before string, limit int) ([]memory.Archive, error)
	Archive(ctx context.Context, who identity.Actor, id string, afterSeq int64, limit int) (ArchivePage, error)
	// SummariseAgain summarises an archive again from its raw messages.
	SummariseAgain(ctx context.Context, who identity.Actor, id, focus string) (memory.Archive, error)
	Search(ctx context.Context, who identity.Actor, q memory.Query) (memory.Found, error)
	Notes(ctx context.Context, who identity.Actor, key Key) ([]memory.Note, error)
	SetTitle(ctx context.Context, who identity.Actor, id, title string) error
	Delete(ctx context.Context, who identity.Actor, id string) error
	Export(ctx context.Context, who identity.Actor, id string, w io.Writer) error
	Import(ctx context.Context, who identity.Actor, r io.Reader, opts memory.ImportOptions) (memory.Imported, error)

	// Share lets an agent recall archives of others; Shares lists what is shared, Unshare
	// takes it back.
	Share(ctx context.Context, who identity.Actor, g memory.Grant) (memory.Grant, error)
	Shares(ctx context.Context, who identity.Actor) ([]memory.Grant, error)
	Unshare(ctx context.Context, who identity.Actor, id string) error

	CreateSchedule(ctx context.Context, who identity.Actor, s Schedule) (Schedule, error)
	Schedules(ctx context.Context, who identity.Actor) ([]Schedule, error)
	DeleteSchedule(ctx context.Context, who identity.Actor, id int64) error

	Stats() Stats
}

// usageOf copies a usage for an event.
func usageOf(u model.Usage) *model.Usage { return &u }

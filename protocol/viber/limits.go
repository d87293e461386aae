package viber

import "time"

// Limits of a frame and of what it carries. Sizes are bytes of UTF-8 unless a
// name says characters.
const (
	// MaxFrameUnauthenticated fits a connection:auth with room to spare; a stranger
	// gets no more of our memory.
	MaxFrameUnauthenticated = 64 << 10
	// MaxFrame fits the largest submit: a full history and everything beside it.
	MaxFrame = 4 << 20
	// MaxID bounds what is echoed as reply_to, in characters.
	MaxID = 128
	// MaxIdempotencyKey bounds what is stored per task, in characters.
	MaxIdempotencyKey = 256
	// MaxGoal and MaxMemory are far above a prompt a person writes.
	MaxGoal   = 64 << 10
	MaxMemory = 64 << 10
	// MaxHistory and MaxHistoryBytes are above any model's context.
	MaxHistory      = 1000
	MaxHistoryBytes = 2 << 20
	// MaxArtifacts keeps the labelled context readable.
	MaxArtifacts = 200
	// MaxToolResult is what of a result goes into a delta; the rest is cut and
	// marked truncated. The model gets more.
	MaxToolResult = 64 << 10
	// MaxTurnText bounds the text of a turn, which results and snapshots repeat, so
	// that those fit a frame.
	MaxTurnText = 2 << 20
	// MaxTerminalInput is a large paste.
	MaxTerminalInput = 64 << 10
	// MaxTerminalData keeps one busy terminal from holding up a connection.
	MaxTerminalData = 32 << 10
	// MaxScrollback is some thousand lines.
	MaxScrollback = 256 << 10
	// MaxTerminalSide is far beyond any screen and keeps a PTY's window sane.
	MaxTerminalSide = 1000
	// WholeArguments is the size under which tool arguments travel in one piece.
	WholeArguments = 8 << 10
	// MaxSummary is a line or two, in characters.
	MaxSummary = 200
	// MaxListLimit is a page of a listing, DefaultListLimit an unasked-for one.
	MaxListLimit     = 200
	DefaultListLimit = 50
	// MaxQueuedBytes is what may wait for a client that does not read.
	MaxQueuedBytes = 4 << 20
)

// Times of the protocol.
const (
	// AuthTimeout is enough to ask a person for a key's passphrase twice over a slow line.
	AuthTimeout = 15 * time.Second
	// ChallengeLife bounds how long a stolen signature could be used.
	ChallengeLife = 5 * time.Minute
	// ApprovalTimeout is how long a question waits unless the task says otherwise: who
	// answers from a phone may be away for a weekend.
	ApprovalTimeout    = 7 * 24 * time.Hour
	MinApprovalTimeout = time.Second
	MaxApprovalTimeout = 30 * 24 * time.Hour
	// TaskTimeout ends a forgotten task; MaxTaskTimeout is a night's work.
	TaskTimeout    = 30 * time.Minute
	MaxTaskTimeout = 24 * time.Hour
	// RetryBusy is what a client is told to wait when nobody can know how long a
	// task or a queue will stay full.
	RetryBusy = time.Second
	// ProtocolErrorWindow is the time in which MaxProtocolErrors violations show
	// that the other side does not speak this protocol.
	ProtocolErrorWindow = time.Minute
	// MaxProtocolErrors closes the connection with the last of them.
	MaxProtocolErrors = 10
)

// MaxSteps is how many model calls a turn may take unless the task says otherwise.
const MaxSteps = 25

// Limits are what a welcome announces of a server's limits.
type Limits struct {
	MaxFrameUnauthenticated int `json:"max_frame_unauthenticated,omitzero"`
	MaxFrame                int `json:"max_frame,omitzero"`
	MaxConnections          int `json:"max_connections,omitzero"`
	MessagesPerSecond       int `json:"messages_per_second,omitzero"`
	SubmitsPerMinute        int `json:"submits_per_minute,omitzero"`
	MaxRunningTasks         int `json:"max_running_tasks,omitzero"`
	MaxQueuedMessages       int `json:"max_queued_messages,omitzero"`
	MaxTerminals            int `json:"max_terminals,omitzero"`
}

// DefaultLimits are those of a hub that configures none.
func DefaultLimits() Limits {
	return Limits{
		MaxFrameUnauthenticated: MaxFrameUnauthenticated, MaxFrame: MaxFrame,
		MaxConnections: 64, MessagesPerSecond: 60, SubmitsPerMinute: 120,
		MaxRunningTasks: 32, MaxQueuedMessages: 20, MaxTerminals: 16,
	}
}

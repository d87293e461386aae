package brain

import (
	"context"
	"time"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/tool"
)

// What a run has when its spec does not say.
const (
	DefaultRounds     = 16
	DefaultRunTimeout = 30 * time.Minute
)

// RunSpec is all a run needs. Only Model and Request are required.
type RunSpec struct {
	// Model answers; Request is what it is sent first. Run fills in the request's
	// Model, Tools and Attempt and adds to a copy of its Messages.
	Model   Model
	Request model.Request

	// Tools are offered and may be called; Call carries what each call of a tool is
	// told about the run.
	Tools *tool.Set
	Call  tool.Call
	// DropCalls ignores calls instead of answering them: a guest without tools
	// that calls one has simply finished.
	DropCalls bool
	// Policy and Approve decide about calls; Tainted starts the run as if it had
	// read words of strangers already.
	Policy  Policy
	Approve func(ctx context.Context, call tool.Call, class tool.Class) (tool.Decision, error)
	Tainted bool

	// MaxRounds and Timeout limit the run (0 = the defaults). Clock counts the time; whoever asks a
	// person lets it stand still (nil = it never does).
	MaxRounds int
	Timeout   time.Duration
	Clock     *Stopwatch
	// Calls is how patient model calls are; zero = TurnPolicy.
	Calls CallPolicy
	// ToolTimeout limits one tool call; zero = the usual 120 s.
	ToolTimeout time.Duration

	// Meter is asked before each model call and told what it used; nil = no budget.
	Meter *Meter

	// Store makes each step durable before the next begins; nil = nothing is kept.
	Store Store
	// Pending gives user messages that arrived during the run and join it now. It
	// is asked right before each model call.
	Pending func() []model.Message
	// Compact is asked, at most once, when the model's window is nearly or quite
	// full: it gets the messages as they would be sent and gives back fewer.
	Compact func(ctx context.Context, msgs []model.Message) ([]model.Message, error)
	// Show puts files of messages before the model; nil = it is only told of them.
	Show *Showing
	// NewFilter, if set, makes a filter for the text of each round.
	NewFilter func() TextFilter
}

// Store is how a run's owner keeps it. An error ends the run at once.
type Store interface {
	// Calls is given the assistant message of a round that calls tools, before
	// any of them runs.
	Calls(ctx context.Context, msg model.Message, usage model.Usage) error
	// Results is given one result per call, in call order, before the next model
	// call; also when the run was cancelled meanwhile, with the open ones failed.
	Results(ctx context.Context, results []tool.Done) error
}

// TextFilter changes text on its way out. What Next returns and what Flush adds at
// the end of the round is what is sent and what is kept.
type TextFilter interface {
	Next(chunk string) string
	Flush() string
}

func (s *RunSpec) defaults() {
	if s.MaxRounds <= 0 {
		s.MaxRounds = DefaultRounds
	}
	if s.Timeout == 0 {
		s.Timeout = DefaultRunTimeout
	}
	if s.Calls.Attempts == 0 {
		s.Calls = TurnPolicy()
	}
	s.Request.Model = s.Model.Name
	s.Request.Tools = s.Tools.Specs()
}

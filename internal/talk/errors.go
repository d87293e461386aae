package talk

import (
	"errors"

	"parley.internal/internal/talk/memory"
)

// What can be wrong with a request. A face maps each to its code once; the
// comment names the agent-first one.
var (
	// ErrBadRequest: a bad name, content that is not UTF-8, a bad schedule (400).
	ErrBadRequest = errors.New("bad request")
	// ErrForbidden: not your sender (403).
	ErrForbidden = errors.New("not your conversation")
	// ErrNoAgent names the agent that does not exist (404).
	ErrNoAgent = errors.New("no such agent")
	// ErrNotFound: no such conversation, handle or archive (404).
	ErrNotFound = memory.ErrNotFound
	// ErrNoArchive: no such archive (404).
	ErrNoArchive = memory.ErrNoArchive
	// ErrNotActive: nothing is loaded, or nothing runs (404).
	ErrNotActive = errors.New("no active conversation")
	// ErrNoQuestion: no question waits for an answer (404).
	ErrNoQuestion = errors.New("no open question")
	// ErrNoCall: no call waits for such a result of a client's tool (409).
	ErrNoCall = errors.New("no call of a tool waits for this result")
	// ErrNoSchedule: no such schedule (404).
	ErrNoSchedule = memory.ErrNoSchedule
	// ErrNothing: nothing to compact (409).
	ErrNothing = memory.ErrNothing
	// ErrExists: the target of an import has messages (409).
	ErrExists = memory.ErrExists
	// ErrBusy: a run is going where none may (409).
	ErrBusy = errors.New("a turn is running in this conversation; try again when it has ended")
	// ErrTooLarge: content above the limit (413).
	ErrTooLarge = errors.New("too large")
	// ErrQueueFull: too many turns wait (429).
	ErrQueueFull = memory.ErrQueueFull
	// ErrBudget: the agent's budget is spent (429).
	ErrBudget = errors.New("budget spent")
	// ErrSummary: the model gave no summary (502); it wraps the model's error.
	ErrSummary = errors.New("the conversation could not be summarised")
	// ErrUnavailable: shutting down or changing owner; the same request may
	// succeed in a moment (503).
	ErrUnavailable = errors.New("this conversation is not available right now; try again")
	// ErrLagged: a reader fell too far behind and was cut; resume by seq.
	ErrLagged = errors.New("reading too slowly")
)

package brain

import "errors"

// Causes a run can be cancelled with (context.WithCancelCause); any other cause
// counts as an ordinary cancel.
var (
	ErrKilled      = errors.New("killed")
	ErrInterrupted = errors.New("interrupted")
)

// What an Outcome's error may be.
var (
	ErrCancelled  = errors.New("cancelled")
	ErrRunTimeout = errors.New("the run took too long")
	ErrRounds     = errors.New("round limit")
	ErrBudget     = errors.New("budget spent")
	ErrNoPrice    = errors.New("no known price")
)

// What the library of agents and the catalogue of models answer.
var (
	ErrNoAgent     = errors.New("no such agent")
	ErrBrokenAgent = errors.New("the agent's file has an error")
	ErrAgentExists = errors.New("an agent of that name exists")
	ErrAgentName   = errors.New("bad agent name")
	ErrAgentConfig = errors.New("bad agent configuration")

	ErrNoProvider   = errors.New("no such provider")
	ErrProviderKept = errors.New("this provider cannot be deleted")
	ErrProviderOff  = errors.New("this provider is switched off")
	ErrBadProvider  = errors.New("bad provider configuration")
)

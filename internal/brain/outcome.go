package brain

import (
	"parley.internal/internal/approval"
	"parley.internal/internal/brain/model"
)

// Stop says why a run ended. The numbers up to StopInterrupted are the wire's.
type Stop uint8

// The reasons.
const (
	StopDone        Stop = 1
	StopSilent      Stop = 2 // it ended well, without a word
	StopRounds      Stop = 3
	StopCancelled   Stop = 4
	StopKilled      Stop = 5
	StopModelError  Stop = 6
	StopBudget      Stop = 7
	StopTimeout     Stop = 8
	StopInterrupted Stop = 9
	// StopInternal is a failure of ours: a hook (the store) returned an error.
	StopInternal Stop = 10
	// StopCalls ends a run whose last round called tools that run elsewhere ([Outcome.Calls]).
	StopCalls Stop = 11
)

// String names the reason.
func (s Stop) String() string {
	names := [...]string{
		"unset", "done", "silent", "iterations", "cancelled", "killed",
		"model_error", "budget", "timeout", "interrupted", "internal", "calls",
	}
	if int(s) < len(names) {
		return names[s]
	}
	return "unknown"
}

// Outcome is how a run ended.
type Outcome struct {
	Stop Stop
	// Err is nil for StopDone, StopSilent and StopCalls; else its text is what people read.
	// A provider's failure is a [*model.Error].
	Err error
	// Text is the text of the last round: the answer.
	Text string
	// Reply is what the last round left that Store has not been given: the answer,
	// or (Interrupted) what there was of it when the run ended early. Its Role is
	// empty when there is nothing to store.
	Reply model.Message
	// Calls are those that whoever sent the turn runs: StopCalls.
	Calls []model.Call
	// Finish is why the last model call stopped.
	Finish model.Finish
	// Usage is the sum over all rounds, Last that of the last one.
	Usage  model.Usage
	Last   model.Usage
	Rounds int
	// Estimated tells that Last was not reported: the call was cut short.
	Estimated bool
	// Tainted tells that words of strangers were read; Taint, if it is known, since when
	// and whose.
	Tainted bool
	Taint   *approval.Taint
}
